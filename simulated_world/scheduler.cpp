#include "simulated_world/scheduler.h"

#include <algorithm>
#include <utility>

namespace crossrail::simulated_world {

Scheduler::Scheduler(const std::vector<int>& node_of, const Machine& machine) : machine_(machine), ranks_(node_of.size()) {
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) ranks_[rank].node = node_of[rank];
  at_work_.resize(static_cast<std::size_t>(*std::max_element(node_of.begin(), node_of.end())) + 1);
}

std::string Scheduler::run(const std::function<void(int)>& body) {
  failure_.clear();
  turns_ = {};
  unfinished_ = static_cast<int>(ranks_.size());
  std::vector<Job> jobs;
  for (int rank = 0; rank < unfinished_; ++rank) jobs.push_back({body, rank});
  for (Job& job : jobs) {
    if (!begin(job)) return "there is no memory for the stacks of so many ranks";
  }
  while (unfinished_ > 0 && failure_.empty()) {
    if (!turns_.empty()) {
      next_turn();
    } else if (!wake_any()) {
      return stuck();
    }
  }
  return failure_;
}

bool Scheduler::begin(Job& job) {
  Rank& rank = ranks_[job.rank];
  if (rank.fiber == nullptr) rank.fiber = std::make_unique<Fiber>();
  if (!rank.fiber->usable()) return false;
  rank.state = State::queued;
  ++at_work_[rank.node];
  current_ = job.rank;
  rank.fiber->start([](void* argument) {
    const Job& its = *static_cast<Job*>(argument);
    its.body(its.rank);
  }, &job);
  end_turn(job.rank);
  return true;
}

void Scheduler::next_turn() {
  const Turn turn = turns_.top();
  turns_.pop();
  if (turn.event != nullptr) {
    turn.event->happen(turn.at);
    return;
  }
  current_ = turn.rank;
  (void)ranks_[turn.rank].fiber->resume();
  end_turn(turn.rank);
}

// A rank has given its turn away, or has returned.
void Scheduler::end_turn(int number) {
  Rank& rank = ranks_[number];
  if (!rank.fiber->finished()) return;
  tell_waiters(rank);
  rank.state = State::finished;
  --at_work_[rank.node];
  --unfinished_;
}

void Scheduler::suspend(State state) {
  Rank& rank = ranks_[current_];
  tell_waiters(rank);
  rank.state = state;
  if (state == State::queued) {
    push(rank.clock, current_, nullptr);
  } else {
    --at_work_[rank.node];
  }
  rank.fiber->wait_until([] { return true; });
}

void Scheduler::enqueue(int rank) {
  ranks_[rank].state = State::queued;
  ++at_work_[ranks_[rank].node];
  push(ranks_[rank].clock, rank, nullptr);
}

void Scheduler::wake(int rank) { enqueue(rank); }

void Scheduler::catch_up() {
  if (!turns_.empty() && turns_.top().at < ranks_[current_].clock) suspend(State::queued);
}

void Scheduler::store() {
  Rank& rank = ranks_[current_];
  tell_waiters(rank);
  catch_up();
  rank.stored = rank.clock;
}

void Scheduler::tell_waiters(Rank& rank) {
  if (rank.stored < 0) return;
  const Time seen = rank.stored + Machine::time(machine_.other_core);
  rank.stored = -1;
  std::erase_if(rank.waiters, [&](int number) {
    Rank& waiter = ranks_[number];
    if (!waiter.ready(waiter.condition)) return false;
    waiter.clock = std::max(waiter.clock, seen);
    enqueue(number);
    return true;
  });
}

void Scheduler::await_flag(int rank, bool (*ready)(void*), void* condition) {
  pass(Machine::time(machine_.look));
  if (ready(condition)) return;
  Rank& mine = ranks_[current_];
  mine.ready = ready;
  mine.condition = condition;
  ranks_[rank].waiters.push_back(current_);
  suspend(State::awaits_flag);
}

void Scheduler::await_messages() { suspend(State::awaits_messages); }

void Scheduler::meet(Meeting& meeting, int members, Time takes) {
  meeting.last = std::max(meeting.last, now());
  if (static_cast<int>(meeting.here.size()) + 1 < members) {
    meeting.here.push_back(current_);
    suspend(State::meets);
    return;
  }
  const Time over = meeting.last + takes;
  const std::vector<int> others = std::move(meeting.here);
  meeting = {};
  for (const int rank : others) {
    ranks_[rank].clock = over;
    enqueue(rank);
  }
  ranks_[current_].clock = over;
}

void Scheduler::fail(std::string why) {
  failure_ = std::move(why);
  while (true) suspend(State::meets);
}

// Some waits are over because of another rank than the one that was named. They are noticed when nothing else goes on.
bool Scheduler::wake_any() {
  bool any = false;
  for (Rank& rank : ranks_) {
    std::erase_if(rank.waiters, [&](int number) {
      Rank& waiter = ranks_[number];
      if (!waiter.ready(waiter.condition)) return false;
      enqueue(number);
      return any = true;
    });
  }
  return any;
}

std::string Scheduler::stuck() const {
  const auto waits_for_flag = [](const Rank& rank) { return rank.state == State::awaits_flag; };
  const auto flags = std::count_if(ranks_.begin(), ranks_.end(), waits_for_flag);
  return std::to_string(unfinished_) + " ranks wait for ever, " + std::to_string(flags) + " of them for a flag";
}

}  // namespace crossrail::simulated_world
