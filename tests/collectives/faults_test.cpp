// What goes wrong is said, on every rank and soon: mismatched calls, ranks that ended, plans that fail.

#include <memory>
#include <thread>

#include "tests/collectives/alltoall_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

virtual_world::WorldOptions impatient(const char* algorithm) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = algorithm;
  options.settings.patience_ms = 40;
  return options;
}

class EveryRowFails : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryRowFails,
                         testing::ValuesIn(catalogue(Collective::alltoall).begin(), catalogue(Collective::alltoall).end()),
                         [](const auto& row) { return std::string(row.param.name); });

struct Results {
  explicit Results(int size) : codes(size, Code::ok), texts(size), cases(size) {}
  std::vector<Code> codes;
  std::vector<std::string> texts;
  // They live until all ranks are done: a rank that has not yet noticed the error may still read a peer's blocks.
  std::vector<std::unique_ptr<AlltoallCase>> cases;
};

// This call does not check its bytes, only how it ends.
void call(Communicator& communicator, const Shape& shape, Results& results) {
  const int rank = communicator.topology.rank;
  results.cases[rank] = std::make_unique<AlltoallCase>(communicator.topology, shape, 1);
  const Outcome outcome = run_collective(communicator, shape, results.cases[rank]->buffers());
  results.codes[rank] = outcome.status.code;
  results.texts[rank] = outcome.status.what;
}

void expect_error_everywhere(const Results& results, std::initializer_list<Code> allowed, std::size_t from = 0) {
  for (std::size_t rank = from; rank < results.codes.size(); ++rank) {
    EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), results.codes[rank]) != allowed.end())
        << "rank " << rank << ": code " << static_cast<int>(results.codes[rank]) << ", " << results.texts[rank];
    EXPECT_NE(results.texts[rank], "") << "rank " << rank;
  }
}

// Makes `good` calls of one size first, so that the plan is known or not when the sizes differ.
void mismatch(const char* algorithm, const std::vector<std::size_t>& bytes_of, bool planned) {
  Results results(static_cast<int>(bytes_of.size()));
  world_that_ends_together(Nodes(bytes_of.size(), 0), impatient(algorithm), [&](Communicator& communicator) {
    if (planned) {
      for (const std::size_t bytes : bytes_of) checked_call(communicator, alltoall_shape(bytes), 1);
      Code worst = Code::ok;  // All have finished them before one meets an error.
      EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
    }
    call(communicator, alltoall_shape(bytes_of[communicator.topology.rank]), results);
    EXPECT_TRUE(communicator.broken);
    // Later calls are left to MPI, whatever they are.
    AlltoallCase later(communicator.topology, alltoall_shape(8), 9);
    const Outcome outcome = run_collective(communicator, alltoall_shape(8), later.buffers());
    EXPECT_TRUE(outcome.status.ok() && outcome.plan->native());
  });
  expect_error_everywhere(results, {Code::mismatch, Code::broken});
  EXPECT_NE(std::count(results.codes.begin(), results.codes.end(), Code::mismatch), 0);
}

TEST_P(EveryRowFails, mismatched_sizes_are_an_error_on_every_rank) {
  for (const bool planned : {false, true}) {
    SCOPED_TRACE(planned);
    mismatch(GetParam().name, {8, 16}, planned);
    mismatch(GetParam().name, {600, 600, 64, 600}, planned);
    mismatch(GetParam().name, {20'000, 40'000, 20'000}, planned);
  }
}

// The tables give these sizes to different rows.
TEST(Mismatch, between_rows_of_the_table) {
  for (const bool planned : {false, true}) {
    mismatch("", {64, 8192}, planned);
    mismatch("", {8192, 0, 8192}, planned);
  }
}

TEST(Mismatch, in_place_on_some_ranks_only_is_no_silent_mix) {
  Results results(2);
  world_that_ends_together({0, 0}, impatient("node_shared"), [&](Communicator& communicator) {
    call(communicator, alltoall_shape(64, communicator.topology.rank == 1), results);
  });
  expect_error_everywhere(results, {Code::mismatch, Code::broken});
}

// A rank that enters the call after the others have met the error must hear of it too. Handed to MPI, it would wait there for ranks that never come.
TEST(Mismatch, is_an_error_for_a_late_rank_too) {
  Results results(3);
  world_that_ends_together({0, 0, 0}, impatient("node_shared"), [&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    for (const std::size_t bytes : {64, 128, 64, 128}) checked_call(communicator, alltoall_shape(bytes), 1);
    // In call 5 no rank looks for devices, which would wait for all.
    Code worst = Code::ok;
    EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
    if (rank == 2) wait_until([&] { return communicator.slot().control->broken_up(); });
    call(communicator, alltoall_shape(rank == 0 ? 64 : 128), results);
  });
  expect_error_everywhere(results, {Code::mismatch, Code::broken});
}

TEST(Mismatch, says_who_and_how_much) {
  Results results(2);
  world_that_ends_together({0, 0}, impatient("node_shared"), [&](Communicator& communicator) {
    call(communicator, alltoall_shape(communicator.topology.rank == 0 ? 100 : 200), results);
  });
  std::string all = results.texts[0] + results.texts[1];
  for (const char* part : {"rank 0", "rank 1", "100", "200", "call 1"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in: " << all;
  }
}

// One rank ends without calling, and the others are in the call.
void lost_peer(const char* algorithm, const Nodes& nodes, int good_calls) {
  Results results(static_cast<int>(nodes.size()));
  virtual_world::world(nodes, impatient(algorithm), [&](Communicator& communicator) {
    for (int again = 0; again < good_calls; ++again) checked_call(communicator, alltoall_shape(600), 1);
    Code worst = Code::ok;
    EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
    if (communicator.topology.rank == 0) return;
    call(communicator, alltoall_shape(600), results);
  });
  expect_error_everywhere(results, {Code::peer_lost, Code::broken}, 1);
}

TEST_P(EveryRowFails, a_rank_that_has_ended_is_an_error_on_every_other) {
  for (const int good_calls : {0, 1, 2}) {
    SCOPED_TRACE(good_calls);
    lost_peer(GetParam().name, {0, 0}, good_calls);
    lost_peer(GetParam().name, {0, 0, 0, 0}, good_calls);
  }
}

TEST(LostPeer, across_nodes) { lost_peer("pairwise", {0, 0, 1, 1}, 1); }

TEST(LostPeer, is_named) {
  Results results(2);
  virtual_world::world({0, 0}, impatient("node_shared"), [&](Communicator& communicator) {
    if (communicator.topology.rank == 1) call(communicator, alltoall_shape(64), results);
  });
  EXPECT_EQ(results.codes[1], Code::peer_lost);
  EXPECT_NE(results.texts[1].find("rank 0 has ended"), std::string::npos) << results.texts[1];
}

// A rank that has done its part of the last call may end at once. Nobody may call that an error, however long he has waited before.
TEST(LostPeer, ending_after_the_last_call_is_no_error) {
  for (int round = 0; round < 300; ++round) {
    virtual_world::WorldOptions options;
    options.settings.patience_ms = round % 3;
    options.cores_per_node = round % 2 == 0 ? 1 : 64;
    virtual_world::world({0, 0, 0, 0}, options, [round](Communicator& communicator) {
      checked_call(communicator, alltoall_shape(64), 1);
      const bool late = (round + communicator.topology.rank) % 4 == 0;
      if (late) std::this_thread::sleep_for(std::chrono::microseconds(500 * (round % 6)));
      checked_call(communicator, alltoall_shape(64), 2);
    });
    if (testing::Test::HasFailure()) return;
  }
}

// A rank that waits long is late, not lost and not mismatched.
TEST(Late, is_not_lost) {
  virtual_world::world({0, 0, 0}, impatient(""), [](Communicator& communicator) {
    for (std::uint64_t number = 0; number < 4; ++number) {
      if (communicator.topology.rank == static_cast<int>(number % 3)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
      }
      checked_call(communicator, alltoall_shape(number % 2 == 0 ? 64 : 9000), number);
    }
  });
}

// A rank that waits lets the host's own messages move.
TEST(Late, who_waits_makes_progress) {
  virtual_world::ThreadWorld threads({0, 0}, impatient("node_shared"));
  threads.run([&threads](Communicator& communicator) {
    if (communicator.topology.rank == 0) wait_until([&] { return threads.counters(1).progress_calls > 10u; });
    checked_call(communicator, alltoall_shape(64), 1);
  });
}

}  // namespace
}  // namespace crossrail::tests
