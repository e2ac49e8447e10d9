// These tests compare every row of alltoallv's catalogue with the definition: worlds x kinds of counts.

#include <atomic>
#include <thread>

#include "selection/parameters.h"
#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kManyCalls = 100;
constexpr std::uint64_t kMixedCalls = 30;
constexpr int kRepetitions = 4;
#else
constexpr std::uint64_t kManyCalls = 1500;
constexpr std::uint64_t kMixedCalls = 120;
constexpr int kRepetitions = 14;
#endif

const Nodes kManyCallWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

virtual_world::WorldOptions forced(const std::string& algorithm) {
  virtual_world::WorldOptions options;
  options.settings.alltoallv = algorithm;
  return options;
}

class EveryVectorRow : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoallv, EveryVectorRow,
                         testing::ValuesIn(catalogue(Collective::alltoallv).begin(), catalogue(Collective::alltoallv).end()),
                         [](const auto& row) { return std::string(row.param.name); });

void all_counts(Communicator& communicator) {
  std::uint64_t call = 0;
  for (const Counts counts : kCounts) {
    for (int again = 0; again < kRepetitions; ++again) {
      if (!checked_vector_call(communicator, counts, ++call)) return;
    }
  }
}

void random_counts(Communicator& communicator, std::uint64_t calls) {
  std::mt19937 random(5);
  for (std::uint64_t call = 0; call < calls; ++call) {
    if (!checked_vector_call(communicator, kCounts[random() % std::size(kCounts)], call)) return;
  }
}

TEST_P(EveryVectorRow, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      all_counts(communicator);
      Plan* plan = nullptr;
      EXPECT_TRUE(plan_for(communicator.slot(), kVectorShape, plan).ok());
      EXPECT_EQ(GetParam().fits(communicator.topology, kVectorShape), std::string(GetParam().name) == plan->algorithm);
    });
  }
}

// All messages wait for their receiver, or none does.
TEST_P(EveryVectorRow, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.links.eager_bytes = eager_bytes;
    for (const Nodes& nodes : kManyCallWorlds) virtual_world::world(nodes, options, all_counts);
  }
}

TEST_P(EveryVectorRow, is_right_whatever_is_shared) {
  for (const bool segment : {true, false}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.shared_segment = segment;
    options.single_copy = false;
    for (const Nodes& nodes : kManyCallWorlds) virtual_world::world(nodes, options, all_counts);
  }
  virtual_world::WorldOptions unreadable = forced(GetParam().name);
  unreadable.links.readable = [](int rank) { return rank % 2 == 0; };
  for (const Nodes& nodes : kManyCallWorlds) virtual_world::world(nodes, unreadable, all_counts);
  // What was allowed when the communicator was opened may be refused later, to some ranks or at times.
  virtual_world::WorldOptions refused = forced(GetParam().name);
  std::atomic<unsigned> reads{0};
  refused.links.may_read = [&](int rank) { return rank % 2 == 0 && ++reads % 3 != 0; };
  for (const Nodes& nodes : kManyCallWorlds) virtual_world::world(nodes, refused, all_counts);
}

TEST_P(EveryVectorRow, obeys_its_parameters) {
  for (const char* parameters : {" packet=0", " packet=100 direct=10", " direct=0", " direct=0 coalesce=0", " throttle=1", " throttle=1 ahead=1", " direct=100000", " coalesce=100000 direct=100000", " leaders=2 ahead=1", " leaders=100", " leaders=100 split=1", " leaders=4 split=50"}) {
    const std::string wanted = GetParam().name + std::string(parameters);
    if (!makes_sense("CROSSRAIL_ALLTOALLV", wanted)) continue;  // These are parameters of other rows.
    for (const Nodes& nodes : kManyCallWorlds) virtual_world::world(nodes, forced(wanted), all_counts);
  }
}

TEST_P(EveryVectorRow, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : {0u, 4096u, 65536u, 300'000u, 1'000'000u}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : kManyCallWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        all_counts(communicator);
        Plan* plan = nullptr;
        EXPECT_TRUE(plan_for(communicator.slot(), kVectorShape, plan).ok());
        EXPECT_LE(plan->node_bytes, communicator.topology.scratch_bytes);
      });
    }
  }
}

TEST_P(EveryVectorRow, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kManyCallWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      random_counts(communicator, calls_of(GetParam(), communicator, kVectorShape, kManyCalls));
    });
  }
}

TEST_P(EveryVectorRow, waits_for_late_ranks) {
  for (const Nodes& nodes : kManyCallWorlds) {
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      const std::uint64_t calls = calls_of(GetParam(), communicator, kVectorShape, 60);
      for (std::uint64_t call = 0; call < calls; ++call) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 3000 : 0));
        if (!checked_vector_call(communicator, kCounts[call % std::size(kCounts)], call)) return;
      }
    });
  }
}

// Both collectives use one communicator, whatever algorithm carries the other.
TEST_P(EveryVectorRow, shares_a_communicator_with_alltoall) {
  for (const Algorithm& other : catalogue(Collective::alltoall)) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.alltoall = other.name;
    for (const Nodes& nodes : kManyCallWorlds) {
      virtual_world::world(nodes, options, [&other](Communicator& communicator) {
        std::mt19937 random(11);
        const bool both = GetParam().fits(communicator.topology, kVectorShape) && other.fits(communicator.topology, alltoall_shape(16));
        for (std::uint64_t call = 0; call < (both ? kMixedCalls : 4); ++call) {
          if (random() % 2 == 0) {
            if (!checked_vector_call(communicator, kCounts[random() % std::size(kCounts)], call)) return;
          } else if (!checked_call(communicator, alltoall_shape(random() % 2 == 0 ? 16 : 3000), call).status.ok()) {
            return;
          }
        }
      });
    }
  }
}

TEST_P(EveryVectorRow, takes_null_where_all_is_empty) {
  for (const Nodes& nodes : kManyCallWorlds) {
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      const std::vector<Block> none(static_cast<std::size_t>(communicator.topology.size), Block{24, 0});
      for (int again = 0; again < 3; ++again) {
        EXPECT_TRUE(run_collective(communicator, kVectorShape, {nullptr, nullptr, none.data(), none.data()}).status.ok());
      }
    });
  }
}

// One rank ends without calling. That is an error on every other rank, soon.
TEST_P(EveryVectorRow, a_rank_that_has_ended_is_an_error) {
  for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 0, 1, 1}, Nodes{0, 1, 2, 0, 1, 2}}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.patience_ms = 40;
    std::vector<std::unique_ptr<AlltoallvCase>> cases(nodes.size());  // Ranks that have not noticed yet may still read them.
    virtual_world::world(nodes, options, [&](Communicator& communicator) {
      for (std::uint64_t call = 0; call < 3; ++call) checked_vector_call(communicator, Counts::uniform, call);
      Code worst = Code::ok;
      EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
      if (communicator.topology.rank == 0) return;
      auto& one = cases[static_cast<std::size_t>(communicator.topology.rank)];
      one = std::make_unique<AlltoallvCase>(communicator.topology, Counts::uniform, 2);
      const Code code = run_collective(communicator, kVectorShape, one->buffers()).status.code;
      EXPECT_TRUE(code == Code::peer_lost || code == Code::broken) << static_cast<int>(code);
    });
  }
}

// A rank sends more than another expects. That is an error where it can be seen, never a hang.
TEST(VectorMismatch, in_a_node_is_an_error) {
  for (const std::size_t bytes : {24u, 3000u, 20'000u}) {
    for (const bool uniform : {true, false}) {
      virtual_world::WorldOptions options = forced("node_shared");
      options.settings.patience_ms = 40;
      std::atomic<int> errors{0};
      std::vector<std::byte> sent(3 * 90'000), received(3 * 90'000);  // Ranks that have not noticed yet may still read them.
      world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
        const int rank = communicator.topology.rank;
        std::byte* const send = sent.data() + rank * 90'000;
        std::byte* const recv = received.data() + rank * 90'000;
        std::vector<Block> out(3), in(3);
        for (std::size_t peer = 0; peer < 3; ++peer) {
          out[peer] = {static_cast<std::ptrdiff_t>(peer * 30'000), uniform ? bytes : bytes + peer};
          in[peer] = {out[peer].offset, uniform ? bytes : bytes + static_cast<std::size_t>(rank)};
        }
        if (rank == 1) in[2].bytes -= 8;
        const Outcome outcome = run_collective(communicator, kVectorShape, {send, recv, out.data(), in.data()});
        if (!outcome.status.ok()) ++errors;
      });
      EXPECT_GE(errors, 1);
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
