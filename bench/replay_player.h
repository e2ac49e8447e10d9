// Makes the recorded calls, natively or with crossrail, and notes what they take.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "harness.h"
#include "replay_data.h"

namespace bench::replay {

constexpr std::size_t kNames = static_cast<std::size_t>(kKinds) * kForms;  // alltoall blocking, nonblocking, ..., alltoallv blocking, ...

struct Taken {
  std::array<double, kNames> inside{};  // seconds in calls, and in completing them
  std::array<double, kNames> calls{};
  double wall = 0;
  std::uint64_t failed = 0;
};

// What a call has received.
struct Result {
  std::size_t event;
  std::uint64_t seed, number;  // of its data; the bytes as one number
  bool operator==(const Result&) const = default;
};

std::uint64_t number_of(const std::vector<std::byte>& bytes);

struct How {
  bool gaps = true;
  // With known data, and the first so many calls on each communicator only, whose results are kept as numbers in `results`.
  bool checked = false;
  std::uint64_t most_calls = UINT64_MAX;
};

class Player {
 public:
  Player(const Program& program, const Data& data, bool native);
  ~Player();
  Player(const Player&) = delete;
  // The whole sequence once. On all ranks together.
  Taken play(const How& how);
  const std::vector<Result>& results() const { return results_; }
  MPI_Comm comm(int number) const { return comms_[number]; }

 private:
  struct Call {
    std::size_t event;
    CallBuffers buffers;
    MPI_Request request = MPI_REQUEST_NULL;
    bool skipped = false;
    std::uint64_t seed = 0;  // of the data
  };
  using Calls = std::vector<std::shared_ptr<Call>>;
  void count(const std::vector<Step>& steps);
  void play(const std::vector<Step>& steps);
  void perform(std::size_t event);
  void call(std::size_t event);
  void complete(const Event& event);
  void start(const Event& event);
  void release(const Event& event);
  void finish();
  bool skips(int comm);
  int make(const Event& event, Call& one);
  int init(const Event& event, const Prepared& ready, Call& one);
  std::shared_ptr<Call> take(std::size_t event);
  void give(const std::shared_ptr<Call>& one);
  void note_result(const Call& one);
  void fill(Call& one);
  void wait_gap(double seconds) const;
  void spent(std::size_t name, double began, int code);
  static std::size_t name_of(const Event& event) { return static_cast<std::size_t>(event.kind) * kForms + event.form; }
  template <typename Function>
  Function choose(Function of_mpi, Function of_crossrail) const {
    return native_ ? of_mpi : of_crossrail;
  }
  const Program& program_;
  const Data& data_;
  bool native_;
  std::vector<MPI_Comm> comms_;
  std::vector<std::uint64_t> limits_, done_;  // calls on each communicator: that all its ranks have recorded; in this turn
  std::map<std::size_t, Calls> free_;  // of an event, ready to be used again
  Calls active_, persistent_;
  How how_;
  Taken taken_;
  double last_ended_ = 0;
  std::vector<Result> results_;
};

}  // namespace bench::replay
