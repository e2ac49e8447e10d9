// No call after the first on a communicator waits for kernels of the program's, nor keeps it from launching. A kernel runs that ends when the host
// says so, while memory is mapped, staged, let go of and freed.
//
//   device_waits

#include <memory>

#include "device_spin.h"

namespace {

using namespace device_test;

constexpr std::size_t kMiB = 1 << 20;
std::uint64_t rounds;

using Owned = std::unique_ptr<Exchange>;

Owned make(MPI_Comm comm, std::size_t bytes, bool in_place = false, Kind kind = Kind::device) {
  Call call{bytes, kind, kind, in_place};
  call.comm = comm;
  return std::make_unique<Exchange>(call);
}

void calls(Exchange& exchange, int count, const char* what) {
  for (int i = 0; i < count; ++i) exchange.once(++rounds, what);
}

class Waits {
 public:
  template <class Work>
  void none_in(const char* what, Work work) {
    MPI_Barrier(MPI_COMM_WORLD);
    spin_.begin();
    work();
    if (!spin_.end()) complain("%s: waits for a kernel of the program's", what);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  cudaStream_t stream() const { return spin_.stream(); }

 private:
  Spin spin_;
};

void memory_comes_and_goes(Waits& waits, MPI_Comm comm) {
  const Owned kept = make(comm, 5000);
  calls(*kept, 4, "kept memory");
  Owned fresh = make(comm, 3000), large = make(comm, kMiB), chunks = make(comm, 4000, false, Kind::chunks);
  waits.none_in("memory that is new", [&] {
    calls(*fresh, 5, "new memory");
    calls(*large, 5, "new and large memory");
    calls(*chunks, 5, "new chunks");
  });
  fresh.reset();
  large.reset();
  chunks.reset();
  waits.none_in("memory that its owner has freed", [&] { calls(*kept, 12, "after others were freed"); });
  // The new memory is where the old one was, if the driver likes.
  for (int again = 0; again < 3; ++again) {
    fresh = make(comm, 3000);
    waits.none_in("memory in the place of other memory", [&] { calls(*fresh, 5, "new memory again"); });
    fresh.reset();
  }
}

// MPI sees nothing but calls beside a kernel that waits for the host, in memory that is mapped and soon freed.
void memory_is_new_all_the_time(Waits& waits, MPI_Comm comm) {
  constexpr int kTimes = 60, kCalls = 4;
  for (int time = 0; time < kTimes; ++time) {
    Owned fresh = make(comm, time % 3 == 0 ? kMiB : 2000 + static_cast<std::size_t>(time));
    waits.none_in("memory that is freed after a few calls", [&] { calls(*fresh, kCalls, "memory that is freed"); });
  }
  const Owned kept = make(comm, 5000);
  calls(*kept, 4, "after all others were freed");
}

// What the program has put behind its kernel concerns other memory than that of the calls.
void other_memory_is_written_later(Waits& waits, MPI_Comm comm) {
  void* other = nullptr;
  require(cudaMalloc(&other, kMiB), "cudaMalloc");
  std::vector<char> pageable(1000, 'p');
  for (const bool copied : {false, true}) {
    Owned fresh = make(comm, 6000), large = make(comm, kMiB);
    waits.none_in(copied ? "a copy of other memory behind the kernel" : "a cudaMemset of other memory behind the kernel", [&] {
      if (copied) require(cudaMemcpyAsync(other, pageable.data(), pageable.size(), cudaMemcpyHostToDevice, waits.stream()), "cudaMemcpyAsync");
      else require(cudaMemsetAsync(other, 1, kMiB, waits.stream()), "cudaMemsetAsync");
      calls(*fresh, 5, "memory that is new");
      calls(*large, 5, "memory that is new and large");
    });
  }
  require(cudaFree(other), "cudaFree");
}

void memory_of_ours_grows(Waits& waits, MPI_Comm comm) {
  std::vector<Owned> all;
  for (const std::size_t bytes : {std::size_t{1000}, kMiB, 5 * kMiB}) all.push_back(make(comm, bytes, true));
  calls(*all.front(), 2, "in place");
  waits.none_in("calls in place that grow", [&] {
    for (const Owned& one : all) calls(*one, 2, "in place");
  });
  waits.none_in("memory of ours that is not needed any more", [&] {
    const Owned& one = all.front();
    for (int i = 0; i < 3; ++i) calls(*one, 2, "in place");
  });
}

void communicators_go(Waits& waits) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    const Owned plain = make(comm, 5000), in_place = make(comm, 70000, true);
    calls(*plain, 4, "on another communicator");
    calls(*in_place, 2, "on another communicator");
    waits.none_in("MPI_Comm_free", [&] { MPI_Comm_free(&comm); });
  }
  const Owned one = make(MPI_COMM_WORLD, 5000);
  calls(*one, 4, "after another communicator");
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  // A kernel of one rank keeps another rank's from a device that they share.
  if (size <= devices) {
    Waits waits;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    memory_comes_and_goes(waits, comm);
    memory_is_new_all_the_time(waits, comm);
    other_memory_is_written_later(waits, comm);
    memory_of_ours_grows(waits, comm);
    communicators_go(waits);
    MPI_Comm_free(&comm);
  }
  return finish("device_waits");
}
