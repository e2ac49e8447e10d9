// These scenarios capture calls in graphs.

#include <deque>
#include <thread>
#include <vector>

#include "tests/nccl/team.h"

namespace nccl_tests {
namespace {

// It is a graph with calls of its own.
class Captured {
 public:
  explicit Captured(const Team& team) : team_(team) {}
  ~Captured() { close(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  // Memory cannot be had while a stream is being captured.
  void add(Kind kind, int count) {
    calls_.emplace_back(kind, count, false, 0).open(team_);
  }
  void add_all_kinds(int count) {
    for (const Kind kind : kKinds) add(kind, count);
  }
  // The calls are in all of the streams in turn, without any order among them that the program makes.
  void begin(const std::vector<void*>& streams) {
    streams_ = streams;
    host_device_begin_capture(streams_.front());
    for (std::size_t at = 1; at < streams_.size(); ++at) host_device_follow(streams_[at], streams_.front());
  }
  void enqueue(Rank& rank, std::size_t at) {
    check(rank, calls_[at].enqueue(team_, streams_[at % streams_.size()]) == ncclSuccess, "a captured call has failed");
  }
  void finish(Rank& rank) {
    for (std::size_t at = 1; at < streams_.size(); ++at) host_device_follow(streams_.front(), streams_[at]);
    graph_ = host_device_end_capture(streams_.front());
    check(rank, graph_ != nullptr, "the capture has been spoilt");
  }
  void capture(Rank& rank, const std::vector<void*>& streams) {
    begin(streams);
    for (std::size_t at = 0; at < calls_.size(); ++at) enqueue(rank, at);
    finish(rank);
  }
  // Every launch has data of its own.
  void launch(void* stream, std::uint32_t number) {
    for (Case& one : calls_) {
      one.renew(++number);
      one.fill(team_, stream);
    }
    host_device_launch(graph_, stream);
    for (Case& one : calls_) one.fetch(team_, stream);
  }
  // All launches are done.
  void check_all(Rank& rank) const {
    for (std::size_t at = 0; at < calls_.size(); ++at) {
      const int wrong = calls_[at].wrong(team_);
      check(rank, wrong == 0, "elements of a graph", wrong);
    }
  }
  void close() {
    if (graph_ != nullptr) host_device_close_graph(graph_);
    graph_ = nullptr;
  }

 private:
  Team team_;
  std::deque<Case> calls_;
  std::vector<void*> streams_;
  void* graph_ = nullptr;
};

class Streams {
 public:
  explicit Streams(std::size_t count) : all_(count) {
    for (void*& stream : all_) stream = host_device_open_stream();
  }
  ~Streams() {
    for (void* const stream : all_) host_device_close_stream(stream);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  void* operator[](std::size_t at) const { return all_[at]; }
  const std::vector<void*>& all() const { return all_; }
  void wait() const {
    for (void* const stream : all_) host_device_wait(stream);
  }

 private:
  std::vector<void*> all_;
};

void eager_call(Rank& rank, const Team& team, Case& one, void* stream) {
  check(rank, one.call(team, stream) == ncclSuccess, "a call has failed");
  one.fetch(team, stream);
}

// Launches and eager calls take turns in several streams, and the program waits for none of them.
void replay_beside_eager_calls(Rank& rank, const Team& team) {
  const Streams streams(2);
  Captured graph(team);
  graph.add_all_kinds(300);
  graph.add_all_kinds(20);
  graph.capture(rank, {streams[0]});
  std::deque<Case> calls;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    graph.launch(streams[0], 100 * round);
    for (const Kind kind : kKinds) eager_call(rank, team, calls.emplace_back(kind, 200, false, 100 * round + 50), streams[1]);
  }
  streams.wait();
  graph.check_all(rank);
  for (const Case& one : calls) check(rank, one.wrong(team) == 0, "elements beside a graph");
}

// They are captured at the same time.
void two_graphs(Rank& rank, const Team& team) {
  const Streams streams(2);
  Captured one(team), other(team);
  one.add_all_kinds(150);
  other.add_all_kinds(700);
  one.begin({streams[0]});
  other.begin({streams[1]});
  for (std::size_t at = 0; at < std::size(kKinds); ++at) {
    one.enqueue(rank, at);
    other.enqueue(rank, at);
  }
  one.finish(rank);
  other.finish(rank);
  for (std::uint32_t round = 1; round <= 5; ++round) {
    one.launch(streams[0], 1000 * round);
    other.launch(streams[1], 1000 * round + 500);
  }
  streams.wait();
  one.check_all(rank);
  other.check_all(rank);
}

// NCCL keeps broadcasts. They are in the same graph as what crossrail handles.
void with_calls_of_nccl(Rank& rank, const Team& team) {
  const Streams streams(1);
  Captured graph(team);
  graph.add(Kind::all_reduce, 100);
  graph.add(Kind::broadcast, 100);
  graph.add(Kind::all_gather, 100);
  graph.capture(rank, streams.all());
  for (std::uint32_t round = 1; round <= 3; ++round) graph.launch(streams[0], 10 * round);
  streams.wait();
  graph.check_all(rank);
}

// What has ended is given back when a communicator is made.
void one_sum_of_its_own(Rank& rank, const Team& all) {
  Team team = all;
  check(rank, ncclCommSplit(all.comm, 0, 0, &team.comm, nullptr) == ncclSuccess, "ncclCommSplit");
  one_sum(rank, team, 1);
  end(rank, team);
}

// Graphs are destroyed while they are launched, after that, and long after their communicator has ended. The last ones are even launched then: NCCL does
// not promise that, but nothing of what they use may be gone.
void outlive(Rank& rank, const Team& all) {
  const Streams streams(1);
  std::deque<Captured> graphs;
  for (std::uint32_t number = 0; number < 6; ++number) {
    Team team = all;
    check(rank, ncclCommSplit(all.comm, 0, 0, &team.comm, nullptr) == ncclSuccess, "ncclCommSplit");
    Captured& graph = graphs.emplace_back(team);
    graph.add_all_kinds(50);
    graph.capture(rank, streams.all());
    graph.launch(streams[0], 10 * number);
    if (rank.rank == 0) std::this_thread::sleep_for(5ms);
    if (number % 3 == 0) graph.close();
    end(rank, team);
    if (number % 3 == 1) graph.close();
  }
  streams.wait();
  one_sum_of_its_own(rank, all);
  for (std::size_t number = 2; number < graphs.size(); number += 3) graphs[number].launch(streams[0], 1000);
  streams.wait();
  for (Captured& graph : graphs) {
    graph.check_all(rank);
    graph.close();
  }
}

}  // namespace

void graphs(Rank& rank) {
  const Team team = world(rank);
  one_sum(rank, team, 1);
  replay_beside_eager_calls(rank, team);
  check(rank, counts().handled == 1 + 8 + 20, "calls handled", static_cast<long>(counts().handled));
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  two_graphs(rank, team);
  check(rank, counts().handled == 29 + 8, "calls handled in two graphs", static_cast<long>(counts().handled));
  with_calls_of_nccl(rank, team);
  one_sum(rank, team, 2);
  end(rank, team);
}

// A capture forks into several streams, with calls in all of them.
void forked_graphs(Rank& rank) {
  const Team team = world(rank);
  const Streams streams(3);
  Captured graph(team);
  for (const int count : {10, 400, 90}) graph.add_all_kinds(count);
  graph.capture(rank, streams.all());
  std::deque<Case> calls;
  for (std::uint32_t round = 1; round <= 10; ++round) {
    host_device_wait(streams[(round + 1) % 2]);  // This launch fills the same memory as the one before.
    graph.launch(streams[round % 2], 100 * round);
    eager_call(rank, team, calls.emplace_back(Kind::all_to_all, 60, false, round), streams[2]);
  }
  streams.wait();
  graph.check_all(rank);
  for (const Case& one : calls) check(rank, one.wrong(team) == 0, "elements beside a forked graph");
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  end(rank, team);
}

void graphs_outlive(Rank& rank) {
  const Team all = world(rank);
  int files = 0;
  for (int round = 0; round < 3; ++round) {
    outlive(rank, all);
    std::this_thread::sleep_for(100ms);  // The driver tells from a thread of its own that a graph has gone.
    one_sum_of_its_own(rank, all);
    if (round == 0) files = open_files();
  }
  check(rank, open_files() <= files, "descriptors are left", open_files() - files);
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  end(rank, all);
}

}  // namespace nccl_tests
