// A device that is none goes through kernels of several ranks at the same time, in any order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace pretended {

struct Kernel {
  unsigned grid, threads;
  std::function<void()> text;
};

struct Cta;
class Device {
 public:
  Device(int ranks, unsigned seed) : streams_(static_cast<std::size_t>(ranks)), random_(seed) {}
  // The kernels of a rank's stream run one after the other.
  void launch(int rank, Kernel kernel) { streams_[static_cast<std::size_t>(rank)].kernels.push_back(std::move(kernel)); }
  // Goes on until all kernels have ended. It returns what is wrong, if anything is: lanes that do not meet, or warps that all wait.
  std::string run();
  // Goes on until this rank has no kernels left, while the kernels of others may wait.
  std::string run_until_done(int rank);

 private:
  struct Stream {
    std::deque<Kernel> kernels;
    std::vector<std::shared_ptr<Cta>> ctas;  // They are those of the first kernel, once it has begun.
  };
  template <class Done>
  std::string go_on(Done done);
  void begin(Stream& stream);
  std::string step(Stream& stream);
  bool is_done(const Stream& stream) const { return stream.kernels.empty(); }

  std::vector<Stream> streams_;
  std::mt19937 random_;
};

}  // namespace pretended
