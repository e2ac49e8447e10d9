// A Player makes the recorded calls, natively or with crossrail, and notes their times.
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

// The order is alltoall blocking, nonblocking, ..., alltoallv blocking, ...
constexpr std::size_t kNames = static_cast<std::size_t>(kKinds) * kForms;

struct Taken {
  std::array<double, kNames> inside{};  // It is the time in calls and in completing them, in seconds.
  std::array<double, kNames> calls{};
  double wall = 0;
  std::uint64_t failed = 0;
};

// A Result is what a call has received.
struct Result {
  std::size_t event;
  std::uint64_t seed, number;  // They belong to its data; `number` is a hash of the bytes.
  bool operator==(const Result&) const = default;
};

std::uint64_t number_of(const std::vector<std::byte>& bytes);

struct How {
  bool gaps = true;
  // The data are known, and only the first calls on each communicator are made; `results` keeps their results as numbers.
  bool checked = false;
  std::uint64_t most_calls = UINT64_MAX;
};

class Player {
 public:
  Player(const Program& program, const Data& data, bool native);
  ~Player();
  Player(const Player&) = delete;
  // Plays the whole sequence once. All ranks call it together.
  Taken play(const How& how);
  const std::vector<Result>& results() const { return results_; }
  MPI_Comm comm(int number) const { return comms_[number]; }

 private:
  struct Call {
    std::size_t event;
    CallBuffers buffers;
    MPI_Request request = MPI_REQUEST_NULL;
    bool skipped = false;
    std::uint64_t seed = 0;  // It determines the data.
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
  // They count calls on each communicator: those that all its ranks have recorded, and those of this turn.
  std::vector<std::uint64_t> limits_, done_;
  std::map<std::size_t, Calls> free_;  // They belong to an event and are ready to be used again.
  Calls active_, persistent_;
  How how_;
  Taken taken_;
  double last_ended_ = 0;
  std::vector<Result> results_;
};

}  // namespace bench::replay
