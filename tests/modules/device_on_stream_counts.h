// crossrail_alltoallv_on_stream has counts and displacements which the stream brings to the device just before the call, and before every launch of a
// graph. This header is for device_on_stream.cpp.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <mpi.h>

#include <crossrail/crossrail.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace on_stream_counts {

using OnStream = decltype(&crossrail_alltoallv_on_stream);
using Ints = std::vector<int>;

constexpr int kMargin = 64, kPoison = -286331154;  // It is 0xEEEEEEEE.

// Returns the ints of a block: none, few, or in every third round a long one beside short ones.
inline int length(int from, int to, int round) {
  const unsigned mixed = static_cast<unsigned>(from * 7919 + to * 104729 + round * 1299709);
  if (mixed % 5 == 0) return 0;
  return round % 3 == 0 && from == 0 ? static_cast<int>(500'000 + mixed % 1000) : static_cast<int>(mixed % 3000);
}
inline int value(int from, int to, int at, int round) { return from * 1000003 + to * 10007 + at * 31 + round; }

// The four arrays lie one after the other, on the device too.
struct Lists {
  explicit Lists(int ranks) : size(ranks), all(static_cast<std::size_t>(4 * ranks)) {}
  int* of(int which) { return all.data() + which * size; }
  int size;
  Ints all;
};

class Test {
 public:
  Test(int rank, int size, cudaStream_t stream, OnStream on_stream)
      : rank_(rank), size_(size), stream_(stream), on_stream_(on_stream), ints_(static_cast<std::size_t>(size) * (501'000 + 3)) {
    require(cudaMalloc(reinterpret_cast<void**>(&send_), ints_ * sizeof(int)));
    require(cudaMalloc(reinterpret_cast<void**>(&recv_), (ints_ + 2 * kMargin) * sizeof(int)));
    require(cudaMalloc(reinterpret_cast<void**>(&lists_), static_cast<std::size_t>(4 * size) * sizeof(int)));
  }
  ~Test() {
    require(cudaStreamSynchronize(stream_));
    MPI_Barrier(MPI_COMM_WORLD);
    require(cudaFree(send_));
    require(cudaFree(recv_));
    require(cudaFree(lists_));
  }
  Test(const Test&) = delete;
  int wrong() const { return wrong_; }

  void eager() {
    for (int round = 1; round <= 6; ++round) {
      bring(round, 0);
      call(round % 2);
      check(round, "eager");
    }
  }
  // The graph's buffers and arrays stay, and what is in them changes.
  void replayed() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    call(0);
    require(cudaStreamEndCapture(stream_, &graph));
    require(cudaGraphInstantiate(&ready, graph, 0));
    for (int round = 20; round < 29; ++round) {
      bring(round, 0);
      require(cudaGraphLaunch(ready, stream_));
      check(round, "replayed");
    }
    require(cudaGraphExecDestroy(ready));
    require(cudaGraphDestroy(graph));
  }
  // The last rank sends more than the others have room for. It does not come, and that rank's next call says so, but moves its blocks.
  void cut_off() {
    for (int round = 40; round < 43; ++round) {
      bring(round, rank_ == size_ - 1 ? 3 : 0);
      call(0);
      check(round, "cut off");
      MPI_Barrier(MPI_COMM_WORLD);
      bring(round + 10, 0);
      if ((enqueue(0) == MPI_SUCCESS) != (rank_ != size_ - 1)) complain("it is not the sender who is told that a block was cut off");
      check(round + 10, "after one that was cut off");
    }
  }

 private:
  void require(cudaError_t result) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "rank %d: counts: %s\n", rank_, cudaGetErrorString(result));
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  void complain(const char* what) {
    std::printf("rank %d: WRONG: counts: %s\n", rank_, what);
    ++wrong_;
  }
  Lists lay_out(int round, int more) const {
    Lists lists(size_);
    for (int peer = 0, out = 0, in = 0; peer < size_; ++peer) {
      lists.of(0)[peer] = length(rank_, peer, round) + more;
      lists.of(1)[peer] = out;
      lists.of(2)[peer] = length(peer, rank_, round);
      lists.of(3)[peer] = in;
      out += lists.of(0)[peer];
      in += lists.of(2)[peer] + peer % 2;  // Some have an int between them.
    }
    return lists;
  }
  // Copies from memory that is not pinned, which has been read when the copies return.
  void bring(int round, int more) {
    brought_ = lay_out(round, more);
    Ints filled(ints_);
    for (int peer = 0; peer < size_; ++peer) {
      for (int at = 0; at < brought_.of(0)[peer]; ++at) filled[static_cast<std::size_t>(brought_.of(1)[peer] + at)] = value(rank_, peer, at, round);
    }
    require(cudaMemcpyAsync(send_, filled.data(), ints_ * sizeof(int), cudaMemcpyHostToDevice, stream_));
    require(cudaMemsetAsync(recv_, 0xEE, (ints_ + 2 * kMargin) * sizeof(int), stream_));
    require(cudaMemcpyAsync(lists_, brought_.all.data(), brought_.all.size() * sizeof(int), cudaMemcpyHostToDevice, stream_));
  }
  // With `host`, what is sent is counted in host memory.
  int enqueue(int host) {
    Lists copy = brought_;
    const auto list = [&](int which) { return lists_ + which * size_; };
    const int code = on_stream_(send_, host != 0 ? copy.of(0) : list(0), list(1), MPI_INT, recv_ + kMargin, list(2), list(3), MPI_INT, MPI_COMM_WORLD, stream_);
    std::fill(copy.all.begin(), copy.all.end(), -1);
    return code;
  }
  void call(int host) {
    if (enqueue(host) != MPI_SUCCESS) complain("refused");
  }
  void check(int round, const char* how) {
    Ints got(ints_ + 2 * kMargin), expected(got.size(), kPoison);
    require(cudaMemcpyAsync(got.data(), recv_, got.size() * sizeof(int), cudaMemcpyDeviceToHost, stream_));
    require(cudaStreamSynchronize(stream_));
    for (int peer = 0; peer < size_; ++peer) {
      int* const block = expected.data() + kMargin + brought_.of(3)[peer];
      for (int at = 0; at < brought_.of(2)[peer]; ++at) block[at] = value(peer, rank_, at, round);
    }
    if (got != expected) complain(how);
  }

  int rank_, size_;
  cudaStream_t stream_;
  OnStream on_stream_;
  std::size_t ints_;
  int *send_ = nullptr, *recv_ = nullptr, *lists_ = nullptr;
  Lists brought_{0};
  int wrong_ = 0;
};

// Returns how much is wrong. With `shared`, ranks share a GPU, and all is refused.
inline int run(int rank, int size, cudaStream_t stream, bool shared) {
  const auto on_stream = reinterpret_cast<OnStream>(dlsym(RTLD_DEFAULT, "crossrail_alltoallv_on_stream"));
  if (on_stream == nullptr) return 1;
  if (!shared) {
    Test test(rank, size, stream, on_stream);
    test.eager();
    test.replayed();
    test.cut_off();
    return test.wrong();
  }
  int* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory), 1024) != cudaSuccess) return 1;
  const Ints nothing(static_cast<std::size_t>(size));
  const int code = on_stream(memory, nothing.data(), nothing.data(), MPI_INT, memory + 128, nothing.data(), nothing.data(), MPI_INT, MPI_COMM_WORLD, stream);
  MPI_Barrier(MPI_COMM_WORLD);
  return (code == MPI_SUCCESS ? 1 : 0) + (cudaFree(memory) == cudaSuccess ? 0 : 1);
}

}  // namespace on_stream_counts
