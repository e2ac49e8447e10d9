// Scheduler runs the ranks of a simulated world in turns, each on a fiber and with a clock of its own.
//
// A rank's clock goes on as it is charged for its work (`pass`). What a rank does that others can see, a flag or a message, happens in the order of time
// over the whole world: before it, the rank gives the others their turn until nobody is behind (`catch_up`). So a world comes to the same
// times on every machine.
//
// A rank that waits for a flag is asked again when the rank that raises it has raised any, and its clock becomes the time of the flag and of its way
// to another core. Messages that arrive while a rank waits for anything are handled at once, as the progress of an MPI library handles them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "simulated_world/machine.h"

namespace crossrail::simulated_world {

// Something happens in the network at some time.
struct Event {
  virtual ~Event() = default;
  virtual void happen(Time at) = 0;
};

class Scheduler {
 public:
  Scheduler(const std::vector<int>& node_of, const Machine& machine);

  // Runs body(rank) on every rank and returns when all have returned, or when one has failed. Returns what `fail` has said, or that ranks wait for
  // ever; an empty text if nothing is wrong.
  std::string run(const std::function<void(int)>& body);

  // The rank that runs calls these.
  int current() const { return current_; }
  Time now() const { return ranks_[current_].clock; }
  void pass(Time time) { ranks_[current_].clock += time; }
  void catch_up();
  void store();
  void await_flag(int rank, bool (*ready)(void*), void* condition);
  // Waits for messages until somebody calls `wake`.
  void await_messages();
  // Waits until all ranks for which `meeting` is the same have come, `members` in number. They go on at the last one's time and `takes` later.
  struct Meeting {
    std::vector<int> here;
    Time last = 0;
  };
  void meet(Meeting& meeting, int members, Time takes);
  // Ends the run. The running rank goes no further, so its objects are not destroyed.
  [[noreturn]] void fail(std::string why);
  // Does so after the present turn.
  void note_failure(const std::string& why) { failure_ = why; }

  // These are for what happens to a rank that waits.
  bool waits(int rank) const { return ranks_[rank].state == State::awaits_flag || ranks_[rank].state == State::awaits_messages; }
  Time& clock(int rank) { return ranks_[rank].clock; }
  void wake(int rank);
  bool awaits_messages(int rank) const { return ranks_[rank].state == State::awaits_messages; }

  void post(Time at, Event& event) { push(at, -1, &event); }
  // Returns how many ranks of the node are at work, neither waiting nor done.
  int at_work(int node) const { return at_work_[node]; }

 private:
  enum class State : std::uint8_t { queued, awaits_flag, awaits_messages, meets, finished };
  struct Rank {
    std::unique_ptr<Fiber> fiber;
    Time clock = 0;
    Time stored = -1;  // It has raised flags at this time of which those who wait have not been told.
    State state = State::queued;
    int node = 0;
    bool (*ready)(void*) = nullptr;
    void* condition = nullptr;
    std::vector<int> waiters;  // These ranks wait for a flag of this one.
  };
  struct Turn {
    Time at;
    std::uint64_t order;
    int rank;  // It is -1 if an event happens.
    Event* event;
    bool operator<(const Turn& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Job {
    const std::function<void(int)>& body;
    int rank;
  };
  bool begin(Job& job);
  void next_turn();
  void push(Time at, int rank, Event* event) { turns_.push({at, order_++, rank, event}); }
  void end_turn(int rank);
  void suspend(State state);
  void enqueue(int rank);
  void tell_waiters(Rank& rank);
  bool wake_any();
  std::string stuck() const;

  const Machine& machine_;
  std::vector<Rank> ranks_;
  std::vector<int> at_work_;
  std::priority_queue<Turn> turns_;
  std::uint64_t order_ = 0;
  int current_ = 0;
  int unfinished_ = 0;
  std::string failure_;
};

}  // namespace crossrail::simulated_world
