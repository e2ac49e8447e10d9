// These probes show what CUDA's own calls answer while the MPS server of a process is killed: whether a query tells of it, and what blocks. Nothing
// here is right or wrong; it says what can be asked of a library that waits by such calls.
#pragma once

#include "device_spin.h"

namespace device_test {

inline const char* volatile doing = "the start";

// It makes one write, so that lines of ranks do not mix.
[[gnu::format(printf, 1, 2)]] inline void say(const char* format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text - 1, format, arguments);
  va_end(arguments);
  const std::size_t bytes = std::min<std::size_t>(static_cast<std::size_t>(length), sizeof text - 2);
  text[bytes] = '\n';
  (void)!write(STDOUT_FILENO, text, bytes + 1);
}

// A call is made again and again, and a new answer is said.
struct Watched {
  const char* name;
  cudaError_t last;
  long asked = 0;
  void heard(cudaError_t answer) {
    ++asked;
    if (answer == last) return;
    say("rank %d: %s answers %s, no longer %s, asked %ld times", rank, name, cudaGetErrorName(answer), cudaGetErrorName(last), asked);
    last = answer;
  }
};

class Probe {
 public:
  explicit Probe(const char* stop) : stop_(stop) {
    require(cudaStreamCreateWithFlags(&idle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaMalloc(&memory_, kBytes), "cudaMalloc");
    require(cudaMemset(memory_, 1, kBytes), "cudaMemset");  // What is loaded at its first use would wait for the kernel.
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    spin_.begin(kSpinMs);
  }

  // Even ranks ask only what needs no answer of the server: the other calls might block.
  void watch() {
    Watched busy{"cudaStreamQuery, a kernel under way,", cudaErrorNotReady}, idle{"cudaStreamQuery, nothing under way,", cudaSuccess};
    Watched pointer{"cudaPointerGetAttributes", cudaSuccess}, room{"cudaMemGetInfo", cudaSuccess};
    say("rank %d: goes on, by CUDA's own calls", rank);
    while (access(stop_, F_OK) != 0) {
      doing = busy.name;
      busy.heard(cudaStreamQuery(spin_.stream()));
      doing = idle.name;
      idle.heard(cudaStreamQuery(idle_));
      cudaPointerAttributes attributes{};
      doing = pointer.name;
      pointer.heard(cudaPointerGetAttributes(&attributes, memory_));
      std::size_t free_bytes = 0, total = 0;
      doing = room.name;
      if (rank % 2 == 1) room.heard(cudaMemGetInfo(&free_bytes, &total));
      usleep(1000);
    }
  }

  // These calls may block. The last line then says where.
  void try_all() {
    void* made = nullptr;
    std::vector<char> host(kBytes);
    attempt("cudaMemsetAsync", [&] { return cudaMemsetAsync(memory_, 1, kBytes, idle_); });
    attempt("cudaStreamSynchronize, nothing but that under way,", [&] { return cudaStreamSynchronize(idle_); });
    attempt("cudaMemcpy", [&] { return cudaMemcpy(host.data(), memory_, kBytes, cudaMemcpyDeviceToHost); });
    attempt("cudaMalloc", [&] { return cudaMalloc(&made, kBytes); });
    spin_.release();
    attempt("cudaStreamSynchronize, the kernel told to end,", [&] { return cudaStreamSynchronize(spin_.stream()); });
    attempt("cudaFree", [&] { return cudaFree(memory_); });
    attempt("cudaDeviceSynchronize", [&] { return cudaDeviceSynchronize(); });
  }

 private:
  static constexpr std::size_t kBytes = 1 << 20;
  static constexpr int kSpinMs = 600'000;
  template <class Call>
  void attempt(const char* what, Call call) {
    doing = what;
    say("rank %d: calls %s", rank, what);
    const cudaError_t answer = call();
    say("rank %d: %s answers %s", rank, what, cudaGetErrorName(answer));
  }

  const char* stop_;
  Spin spin_;
  cudaStream_t idle_ = nullptr;
  void* memory_ = nullptr;
};

// Ends a process whose calls may block.
[[noreturn]] inline void probe(const char* stop) {
  Probe& one = *new Probe(stop);
  one.watch();
  one.try_all();
  say("rank %d: ended: all of CUDA's calls have returned", rank);
  _exit(0);
}

}  // namespace device_test
