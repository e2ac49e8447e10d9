// This stands in for NCCL where there is no GPU: its collectives run in the streams of the device that is made of host memory
// (virtual_world/host_device.h), slowly, through memory that the ranks share. It makes only what the tests need: sums and averages of 32 bits.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/nccl/nccl.h"
#include "tests/nccl/scenarios.h"
#include "virtual_world/host_device.h"

namespace nccl_tests {
bool use_device(int) { return true; }
}  // namespace nccl_tests

extern "C" {
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuStreamIsCapturing(void* stream, int* status);
}

namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // It limits what a rank sends in a call.

// What a rank has sent to another one waits here for its receive.
constexpr unsigned kLetters = 16;
constexpr std::size_t kLetterBytes = std::size_t{1} << 16;
struct Mail {
  std::atomic<std::uint32_t> sent, received;
  std::byte letters[kLetters][kLetterBytes];
};

struct Shared {
  std::atomic<std::uint32_t> come[2];  // They count the ranks at barriers, in streams and on the host.
  std::atomic<int> colours[kMostRanks];
  std::byte data[kMostRanks][kMostBytes];
  Mail mail[kMostRanks][kMostRanks];
};

}  // namespace

struct ncclComm {
  Shared* shared;
  std::string name;
  int rank, size;
  std::uint32_t passed[2] = {0, 0};
  int children = 0;
  std::atomic<bool> aborted{false};
};

namespace {

// Each of the two kinds has barriers of its own, because streams run beside the host.
void barrier(ncclComm& comm, int kind) {
  comm.shared->come[kind].fetch_add(1);
  const std::uint32_t all = ++comm.passed[kind] * static_cast<std::uint32_t>(comm.size);
  while (comm.shared->come[kind].load() < all && !comm.aborted) sched_yield();
}

ncclComm_t open_comm(const std::string& name, int rank, int size) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (descriptor < 0 || ftruncate(descriptor, sizeof(Shared)) != 0) return nullptr;
  void* const mapped = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  auto* const comm = new ncclComm{static_cast<Shared*>(mapped), name, rank, size};
  barrier(*comm, 1);
  if (rank == 0) shm_unlink(name.c_str());
  return comm;
}

std::size_t bytes_of(ncclDataType_t type) { return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclInt64 ? 8 : 4; }

// A captured task runs at every launch of its graph, so it stays.
struct Task {
  std::function<void()> run;
  bool stays;
};
void launch(void* stream, std::function<void()> run) {
  int captured = 0;
  cuStreamIsCapturing(stream, &captured);
  cuLaunchHostFunc(stream, [](void* task) {
    auto* const mine = static_cast<Task*>(task);
    mine->run();
    if (!mine->stays) delete mine;
  }, new Task{std::move(run), captured != 0});
}

// Every rank shows what it sends, and takes what it wants of what the others show.
ncclResult_t exchange(ncclComm_t comm, void* stream, const void* send, std::size_t bytes, std::function<void()> take) {
  if (bytes > kMostBytes) return ncclInvalidArgument;
  launch(stream, [comm, send, bytes, take = std::move(take)] {
    std::memcpy(comm->shared->data[comm->rank], host_device_touchable(send), bytes);
    barrier(*comm, 0);
    if (!comm->aborted) take();
    barrier(*comm, 0);
  });
  return ncclSuccess;
}

template <class Number>
void combine(const ncclComm& comm, std::byte* to, std::size_t first, std::size_t count, bool average) {
  for (std::size_t at = 0; at < count; ++at) {
    Number sum{};
    for (int peer = 0; peer < comm.size; ++peer) {
      Number one;
      std::memcpy(&one, comm.shared->data[peer] + (first + at) * sizeof one, sizeof one);
      sum = static_cast<Number>(sum + one);
    }
    if (average) sum = static_cast<Number>(sum / static_cast<Number>(comm.size));
    std::memcpy(to + at * sizeof sum, &sum, sizeof sum);
  }
}

void combine(const ncclComm& comm, void* recv, std::size_t first, std::size_t count, ncclDataType_t type, bool average) {
  auto* const to = static_cast<std::byte*>(host_device_touchable(recv));
  if (type == ncclFloat32) combine<float>(comm, to, first, count, average);
  else combine<std::uint32_t>(comm, to, first, count, average);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22800;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "an error of the stand-in"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int ids = 0;
  std::snprintf(id->internal, sizeof id->internal, "/stand-in.%d.%d", static_cast<int>(getpid()), ++ids);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  *comm = open_comm(id.internal, rank, size);
  return *comm == nullptr ? ncclSystemError : ncclSuccess;
}
// It is a communicator that does not block, which is told once it is there.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, void*) {
  *comm = open_comm(id.internal, rank, size);
  return *comm == nullptr ? ncclSystemError : ncclInProgress;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int, ncclComm_t* made, void*) {
  comm->shared->colours[comm->rank] = colour;
  barrier(*comm, 1);
  int size = 0, rank = 0;
  for (int peer = 0; peer < comm->size; ++peer) {
    if (comm->shared->colours[peer] != colour) continue;
    if (peer < comm->rank) ++rank;
    ++size;
  }
  barrier(*comm, 1);
  *made = colour < 0 ? nullptr : open_comm(comm->name + ".s" + std::to_string(++comm->children) + "." + std::to_string(colour), rank, size);
  return ncclSuccess;
}
ncclResult_t ncclCommShrink(ncclComm_t comm, int* left_out, int count, ncclComm_t* made, void*, int) {
  const auto stays = [&](int rank) { return std::find(left_out, left_out + count, rank) == left_out + count; };
  int rank = 0;
  for (int peer = 0; peer < comm->rank; ++peer) rank += stays(peer) ? 1 : 0;
  *made = open_comm(comm->name + ".k" + std::to_string(++comm->children), rank, comm->size - count);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted = true;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t, int* device) {
  *device = 0;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm, void* stream) {
  return exchange(comm, stream, send, count * bytes_of(type), [=] { combine(*comm, recv, 0, count, type, operation == ncclAvg); });
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm, void* stream) {
  const auto first = count * static_cast<std::size_t>(comm->rank);
  return exchange(comm, stream, send, count * bytes_of(type) * static_cast<std::size_t>(comm->size),
                  [=] { combine(*comm, recv, first, count, type, operation == ncclAvg); });
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, void* stream) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(comm, stream, send, bytes, [=] {
    auto* const to = static_cast<std::byte*>(host_device_touchable(recv));
    for (int peer = 0; peer < comm->size; ++peer) std::memcpy(to + static_cast<std::size_t>(peer) * bytes, comm->shared->data[peer], bytes);
  });
}
ncclResult_t ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, void* stream) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(comm, stream, send, bytes * static_cast<std::size_t>(comm->size), [=] {
    auto* const to = static_cast<std::byte*>(host_device_touchable(recv));
    for (int peer = 0; peer < comm->size; ++peer) {
      std::memcpy(to + static_cast<std::size_t>(peer) * bytes, comm->shared->data[peer] + static_cast<std::size_t>(comm->rank) * bytes, bytes);
    }
  });
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void* stream) {
  const std::size_t bytes = count * bytes_of(type);
  if (bytes > kLetterBytes) return ncclInvalidArgument;
  launch(stream, [=] {
    Mail& mail = comm->shared->mail[comm->rank][peer];
    while (mail.sent - mail.received == kLetters && !comm->aborted) sched_yield();
    std::memcpy(mail.letters[mail.sent % kLetters], host_device_touchable(send), bytes);
    ++mail.sent;
  });
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void* stream) {
  const std::size_t bytes = count * bytes_of(type);
  if (bytes > kLetterBytes) return ncclInvalidArgument;
  launch(stream, [=] {
    Mail& mail = comm->shared->mail[peer][comm->rank];
    while (mail.sent == mail.received && !comm->aborted) sched_yield();
    std::memcpy(host_device_touchable(recv), mail.letters[mail.received % kLetters], bytes);
    ++mail.received;
  });
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, void* stream) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(comm, stream, comm->rank == root ? send : recv, bytes, [=] { std::memcpy(host_device_touchable(recv), comm->shared->data[root], bytes); });
}
}
