// The tests on device memory share this: the frame of a program, and one MPI_Alltoall of bytes with fresh data, poisoned receive buffers and guards,
// compared with the definition of the collective.
#pragma once

#include <dirent.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "device_memory.h"
#include "device_mps.h"
#include "tests/nonblocking/persistent.h"

namespace device_test {

constexpr int kSkip = 77;

// Returns false where there is no GPU. The program then returns kSkip.
inline bool start(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    if (rank == 0) std::printf("skipped: no GPU\n");
    MPI_Finalize();
    return false;
  }
  own_device = rank % devices;
  require(cudaSetDevice(own_device), "cudaSetDevice");
  require(cudaFree(nullptr), "the device");
  return true;
}

// Returns whether kernels of all ranks run at the same time: every rank has a device to itself, or an MPS server stands between them and a device.
inline bool kernels_run_at_once() { return size <= devices || mps_is_on(own_device); }

// Prints the last line of a program. Returns what main returns.
inline int finish(const char* name) {
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s: %d ranks, %d devices: %d wrong\n", name, size, devices, all);
  std::fflush(stdout);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

// crossrail gives this function to programs. `ask` is null where crossrail is not preloaded.
inline const char* last_algorithm() {
  static const auto ask = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "crossrail_last_algorithm"));
  return ask == nullptr ? "no crossrail" : ask();
}

// This is last_algorithm() right after the call under test. Calls of the test's own may be carried, too.
inline std::string carried_by;
inline bool crossrail_is_here() { return dlsym(RTLD_DEFAULT, "crossrail_last_algorithm") != nullptr; }

// This is for communicators whose first call is still to come. With "" crossrail chooses.
inline void force_algorithm(const char* name) {
  static const auto set = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  if (set != nullptr && set("CROSSRAIL_ALLTOALL", name) != 0) complain("there is no algorithm '%s'", name);
}

inline std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

// Every rank gets the same bytes for the same key.
inline void fill_random(unsigned char* to, std::size_t bytes, std::uint64_t key) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = mix(key + at * 0x9e3779b97f4a7c15u);
    std::memcpy(to + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

inline std::uint64_t block_key(std::uint64_t round, int from, int to) {
  return mix(mix(round * 0x9e3779b97f4a7c15u + static_cast<unsigned>(from)) + static_cast<unsigned>(to));
}

// Returns the ranks in the world of a communicator's ranks.
inline std::vector<int> members_of(MPI_Comm comm) {
  int count = 0;
  MPI_Comm_size(comm, &count);
  std::vector<int> own(count), world(count);
  for (int i = 0; i < count; ++i) own[i] = i;
  MPI_Group group, all;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_translate_ranks(group, count, own.data(), all, world.data());
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return world;
}

constexpr std::size_t kGuardBytes = 256;

struct Call {
  std::size_t block_bytes;
  Kind send, recv;
  bool in_place = false;
  std::size_t send_shift = 0, recv_shift = 0;  // The buffers are so many bytes off 256.
  MPI_Comm comm = MPI_COMM_WORLD;
};

// This is a buffer with guards, and what it must hold.
struct Area {
  Area(std::size_t bytes, Kind kind, std::size_t shift)
      : before(kGuardBytes + shift), image(before + bytes + kGuardBytes), memory(image.size(), kind) {}
  void* buffer() const { return static_cast<char*>(memory.address) + before; }
  unsigned char* block(std::size_t offset) { return image.data() + before + offset; }
  void poison(std::uint64_t key) { fill_random(image.data(), image.size(), key); }
  void write() { memory.write(image); }
  std::size_t wrong_bytes(std::size_t& first) const {
    const std::vector<unsigned char> got = memory.read();
    if (got == image) return 0;
    std::size_t count = 0;
    for (std::size_t i = image.size(); i-- > 0;) {
      if (got[i] == image[i]) continue;
      first = i;
      ++count;
    }
    return count;
  }
  std::size_t before;
  std::vector<unsigned char> image;
  Memory memory;
};

// This is one call. fill, run and check may be repeated.
class Exchange {
 public:
  explicit Exchange(const Call& call)
      : call_(call),
        members_(members_of(call.comm)),
        send_(call.in_place ? 0 : call.block_bytes * members_.size(), call.in_place ? Kind::host : call.send,
              call.send_shift),
        recv_(call.block_bytes * members_.size(), call.recv, call.recv_shift) {}

  // The round must be the same on all ranks, and is best never used again.
  void fill(std::uint64_t round) {
    send_.poison(mix(round + 1) + static_cast<unsigned>(rank));
    recv_.poison(mix(round + 2) + static_cast<unsigned>(rank));
    Area& from = call_.in_place ? recv_ : send_;
    each_block([&](std::size_t offset, int peer) {
      fill_random(from.block(offset), call_.block_bytes, block_key(round, rank, peer));
    });
    send_.write();
    recv_.write();
    each_block([&](std::size_t offset, int peer) {
      fill_random(recv_.block(offset), call_.block_bytes, block_key(round, peer, rank));
    });
  }

  // These return MPI's code.
  int run() { return MPI_Alltoall(send(), count(), MPI_BYTE, recv_.buffer(), count(), MPI_BYTE, call_.comm); }
  int start(MPI_Request* request) {
    return MPI_Ialltoall(send(), count(), MPI_BYTE, recv_.buffer(), count(), MPI_BYTE, call_.comm, request);
  }
#if HAVE_PERSISTENT
  // Makes a persistent request.
  int init(MPI_Request* request) {
    return MPI_Alltoall_init(send(), count(), MPI_BYTE, recv_.buffer(), count(), MPI_BYTE, call_.comm, MPI_INFO_NULL, request);
  }
#endif

  bool check(const char* what) const {
    std::size_t first = 0;
    const std::size_t sent = send_.wrong_bytes(first), received = sent > 0 ? 0 : recv_.wrong_bytes(first);
    if (sent + received == 0) return true;
    const std::size_t before = sent > 0 ? send_.before : recv_.before;
    complain("%s: %zu bytes wrong in the %s buffer, from %ld; blocks of %zu, %s to %s%s, by %s", what, sent + received,
             sent > 0 ? "send" : "receive", static_cast<long>(first) - static_cast<long>(before), call_.block_bytes,
             name_of(call_.send), name_of(call_.recv), call_.in_place ? ", in place" : "", last_algorithm());
    return false;
  }

  bool once(std::uint64_t round, const char* what) {
    fill(round);
    if (const int code = run(); code != MPI_SUCCESS) {
      complain("%s: error %d", what, code);
      return false;
    }
    return check(what);
  }

 private:
  int count() const { return static_cast<int>(call_.block_bytes); }
  void* send() const { return call_.in_place ? MPI_IN_PLACE : send_.buffer(); }
  template <class Work>
  void each_block(Work work) {
    for (std::size_t i = 0; i < members_.size(); ++i) work(i * call_.block_bytes, members_[i]);
  }
  Call call_;
  std::vector<int> members_;
  Area send_, recv_;
};

// These numbers must not grow while a program runs.
struct Use {
  long descriptors = 0;
  std::size_t free_bytes = 0;
};

// Call it on all ranks. Those of one device must be quiet meanwhile.
inline Use use_now() {
  MPI_Barrier(MPI_COMM_WORLD);
  require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudaMemPool_t pool = nullptr;
  require(cudaDeviceGetDefaultMemPool(&pool, own_device), "the default pool");
  require(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
  require(cudaMemPoolTrimTo(shared_pool(), 0), "cudaMemPoolTrimTo");
  MPI_Barrier(MPI_COMM_WORLD);
  Use use;
  std::size_t total = 0;
  require(cudaMemGetInfo(&use.free_bytes, &total), "cudaMemGetInfo");
  DIR* folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) ++use.descriptors;
  if (folder != nullptr) closedir(folder);
  MPI_Barrier(MPI_COMM_WORLD);
  return use;
}

inline void check_use(const Use& before, const Use& after) {
  constexpr long kFewDescriptors = 32, kFewMiB = 64;  // What is kept mapped is bounded, but takes a while to be reached.
  const long lost_mib = (static_cast<long>(before.free_bytes) - static_cast<long>(after.free_bytes)) / (1 << 20);
  if (rank == 0) {
    std::printf("descriptors %ld > %ld, device memory less by %ld MiB\n", before.descriptors, after.descriptors,
                lost_mib);
  }
  if (after.descriptors > before.descriptors + kFewDescriptors) {
    complain("descriptors leak: %ld, then %ld", before.descriptors, after.descriptors);
  }
  if (lost_mib > kFewMiB) complain("device memory leaks: %ld MiB", lost_mib);
}

}  // namespace device_test
