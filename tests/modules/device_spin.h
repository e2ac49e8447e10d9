// This kernel runs until the host says that it may end, in a stream that nothing waits for. Whatever waits for it is late: after a while somebody
// else lets it end, so that a test does not hang.
#pragma once

#include <unistd.h>

#include <atomic>
#include <thread>

#include "device_exchange.h"

namespace device_test {

class Spin {
 public:
  Spin() {
    decltype(&cuModuleLoadData) load = nullptr;
    decltype(&cuModuleGetFunction) find = nullptr;
    find_entry(load, "cuModuleLoadData");
    find_entry(find, "cuModuleGetFunction");
    find_entry(launch_, "cuLaunchKernel");
    CUmodule module{};
    require(load(&module, kText), "the kernel");
    require(find(&kernel_, module, "spin"), "the kernel");
    require(cudaHostAlloc(&memory_, sizeof(unsigned long long), cudaHostAllocMapped), "cudaHostAlloc");
    std::memset(memory_, 0, sizeof(unsigned long long));
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Spin() { end(); }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  void begin(int longest_ms = 2000) {
    unsigned long long value = ++number_;
    void* arguments[] = {&memory_, &value};
    require(launch_(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr), "cuLaunchKernel");
    late_ = false;
    ended_ = false;
    watch_ = std::thread([this, longest_ms] {
      for (int step = 0; step < longest_ms && !ended_; ++step) usleep(1000);
      late_ = !ended_;
      release();
    });
  }
  // Returns whether it was ended by this. It was not if something has waited for it.
  bool end() {
    ended_ = true;
    if (watch_.joinable()) watch_.join();
    require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return !late_;
  }
  // Lets it end, without waiting for it.
  void release() { std::atomic_ref(*static_cast<unsigned long long*>(memory_)).store(number_); }
  cudaStream_t stream() const { return stream_; }

 private:
  static constexpr const char* kText =
      ".version 6.0\n.target sm_70\n.address_size 64\n"
      ".visible .entry spin(.param .u64 word, .param .u64 value)\n{\n"
      "  .reg .u64 %a, %v, %w;\n  .reg .pred %p;\n"
      "  ld.param.u64 %a, [word];\n  ld.param.u64 %v, [value];\n"
      "again:\n  ld.volatile.global.u64 %w, [%a];\n  setp.lt.u64 %p, %w, %v;\n  @%p bra again;\n  ret;\n}\n";

  decltype(&cuLaunchKernel) launch_ = nullptr;
  CUfunction kernel_{};
  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  unsigned long long number_ = 0;
  std::thread watch_;
  std::atomic<bool> ended_{false}, late_{false};
};

}  // namespace device_test
