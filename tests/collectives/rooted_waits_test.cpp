// These tests check which ranks wait for which in gathers and scatters, and what ranks hear that disagree about the root or the size.

#include <atomic>

#include "tests/collectives/phases.h"
#include "tests/collectives/rooted_case.h"

namespace crossrail::tests {
namespace {

struct Way {
  Collective collective;
  const char* algorithm;
};
constexpr Way kShort[] = {{Collective::gather, "node_shared"}, {Collective::gatherv, "node_shared"}, {Collective::scatter, "node_shared"}, {Collective::scatterv, "node_shared"},
                          {Collective::gather, "direct"},      {Collective::gatherv, "direct"},      {Collective::scatter, "direct"},      {Collective::scatterv, "direct"}};

class Waits : public testing::TestWithParam<Way> {
 protected:
  static virtual_world::WorldOptions forced(std::uint64_t patience_ms = 10'000) {
    virtual_world::WorldOptions options;
    setting_of(options.settings, GetParam().collective) = GetParam().algorithm;
    options.settings.patience_ms = patience_ms;
    return options;
  }
  static RootedCall call_of(std::size_t bytes, int root, std::uint64_t number) { return {GetParam().collective, bytes, root, number}; }
};
INSTANTIATE_TEST_SUITE_P(rooted, Waits, testing::ValuesIn(kShort),
                         [](const auto& way) { return std::string(name_of(way.param.collective)) + "_" + way.param.algorithm; });

// Once there is a plan, ranks that send go on before any rank has come that receives.
TEST_P(Waits, who_sends_does_not_wait) {
  constexpr int kRoot = 1, kRanks = 4;
  std::atomic<int> sent{0};
  const bool gathers = root_receives(GetParam().collective);
  virtual_world::world(Nodes(kRanks, 0), forced(), [&](Communicator& communicator) {
    std::uint64_t number = 5;  // In a v form's calls without empty blocks all lengths are equal.
    for (; number <= 20; number += 5) ASSERT_TRUE(checked_rooted(communicator, call_of(24, kRoot, number)).status.ok());
    ASSERT_TRUE(communicator.slot().control->barrier().ok());
    const bool sends = gathers != (communicator.topology.rank == kRoot);
    if (!sends) wait_until([&] { return sent == (gathers ? kRanks - 1 : 1); });
    ASSERT_TRUE(checked_rooted(communicator, call_of(24, kRoot, number)).status.ok());
    if (sends) ++sent;
  });
}

// The ranks that wait for something hear that the calls are unlike. Nobody takes bytes that are not for it.
void differing(const virtual_world::WorldOptions& options, const std::function<RootedCall(int rank)>& call_of_rank) {
  std::atomic<int> mismatches{0};
  world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    ASSERT_TRUE(checked_rooted(communicator, {call_of_rank(0).collective, 24, 0, 5}).status.ok());
    // Ranks that nobody sends to have gone on, in up to two calls, before the others hear.
    for (std::uint64_t number = 10; number <= 20; number += 5) {
      RootedCall call = call_of_rank(rank);
      call.number = number;
      const RootedCase one(communicator.topology, call);
      std::vector<std::byte> send = one.send, recv = one.recv;
      send.resize(send.size() + 1), recv.resize(recv.size() + 1);
      Buffers buffers{send.data(), one.recv.empty() ? nullptr : recv.data()};
      if (call.has_counts()) buffers.out = one.out.data(), buffers.in = one.in.data();
      const Outcome outcome = run_collective(communicator, call.shape(), buffers);
      mismatches += outcome.status.code == Code::mismatch;
      if (outcome.status.ok()) continue;
      EXPECT_TRUE(outcome.status.code == Code::mismatch || outcome.status.code == Code::broken) << outcome.status.what;
      EXPECT_STRNE(outcome.status.what, "");
      return;
    }
  });
  EXPECT_GE(mismatches, 1);
}

TEST_P(Waits, ranks_that_differ_in_the_root_hear_it) {
  if (std::string_view(GetParam().algorithm) == "direct") return;  // Messages follow the MPI library's own behaviour.
  differing(forced(40), [](int rank) { return call_of(24, rank == 1 ? 2 : 0, 0); });
}

TEST_P(Waits, ranks_that_differ_in_the_size_hear_it) {
  if (std::string_view(GetParam().algorithm) == "direct") return;
  const bool counted = RootedCall{GetParam().collective, 1, 0, 0}.has_counts();
  differing(forced(40), [&](int rank) { return call_of(counted ? (rank == 0) == root_receives(GetParam().collective) ? 24 : 96 : rank == 0 ? 24 : 48, 0, 0); });
}

// After an error at the root nobody writes into its memory any more, and it does not leave while somebody does.
TEST(SingleCopy, nobody_writes_into_a_buffer_after_an_error) {
  virtual_world::WorldOptions options;
  options.settings.gather = "node_single_copy";
  options.settings.patience_ms = 40;
  for (int again = 0; again < 20; ++again) {
    std::atomic<bool> root_is_back{false};
    world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
      const int rank = communicator.topology.rank;
      for (std::uint64_t number = 0; number < 5; ++number) ASSERT_TRUE(checked_rooted(communicator, {Collective::gather, 50'000, 0, number}).status.ok());
      if (rank == 1) wait_until([&] { return root_is_back.load(); });
      const RootedCall call{Collective::gather, rank == 2 ? 40'000u : 50'000u, 0, 2};
      std::vector<std::byte> send(50'000, std::byte{1}), recv(150'000, std::byte{2});
      const Outcome outcome = run_collective(communicator, call.shape(), Buffers{send.data(), rank == 0 ? recv.data() : nullptr});
      EXPECT_FALSE(outcome.status.ok() && !outcome.plan->native()) << rank;
      if (rank != 0) return;
      const std::vector<std::byte> seen = recv;
      root_is_back = true;
      for (int look = 0; look < 100; ++look) std::this_thread::yield();
      EXPECT_EQ(seen, recv);
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
