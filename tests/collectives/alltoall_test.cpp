// These tests compare every row of the catalogue with the definition of alltoall: worlds x sizes x in place or not.

#include <random>
#include <thread>

#include "tests/collectives/alltoall_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRepetitions = 1;
constexpr std::uint64_t kManyCalls = 120;
constexpr std::uint64_t kMixedCalls = 12;
constexpr int kLeaderCalls = 8;
constexpr std::size_t kLargest = 70'000;  // The code of larger ones is that of these; the release build checks their bytes.
// The sizes are around packets, odd ones and those of several chunks. There is one for every branch that kSizes takes.
constexpr std::size_t kSizes[] = {0, 1, 7, 13, 56, 57, 257, 4097, 65537};
constexpr std::size_t kMixedSizes = std::size(kSizes) - 1;  // Rows of the last size would be new memory in every call.
#else
constexpr std::uint64_t kRepetitions = 4;
constexpr std::uint64_t kManyCalls = 2000;
constexpr std::uint64_t kMixedCalls = 200;
constexpr int kLeaderCalls = 40;
constexpr std::size_t kLargest = 300'000;
constexpr std::size_t kSizes[] = {0,  1,  2,   3,   7,   8,    13,   55,   56,
                                  57, 64, 100, 256, 257, 1000, 4096, 4097, 65537};
constexpr std::size_t kMixedSizes = std::size(kSizes);
#endif

virtual_world::WorldOptions forced(const char* algorithm) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = algorithm;
  return options;
}

// The worlds are one node; equal nodes whose number is a power of two and is not; unequal, interleaved and lone ranks.
const Nodes kManyCallWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

class EveryRow : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryRow,
                         testing::ValuesIn(catalogue(Collective::alltoall).begin(), catalogue(Collective::alltoall).end()),
                         [](const auto& row) { return std::string(row.param.name); });

// The forced row carries the call where it fits. Where it does not, another one does, and the bytes are right all the same.
void expect_row(const Algorithm& row, const Communicator& communicator, const Shape& shape, const Outcome& outcome) {
  if (!outcome.status.ok()) return;
  const bool fits = row.fits(communicator.topology, shape);
  EXPECT_EQ(fits, std::string(row.name) == outcome.plan->algorithm)
      << row.name << " on " << communicator.topology.text() << ", got " << outcome.plan->algorithm;
}

void all_sizes(const Algorithm& row, Communicator& communicator) {
  std::uint64_t call = 0;
  for (const std::size_t bytes : kSizes) {
    for (const bool in_place : {false, true}) {
      const Shape shape = alltoall_shape(bytes, in_place);
      const std::uint64_t calls = row.fits(communicator.topology, shape) ? kRepetitions : 1;
      for (std::uint64_t again = 0; again < calls; ++again) {
        expect_row(row, communicator, shape, checked_call(communicator, shape, ++call));
      }
    }
  }
}

TEST_P(EveryRow, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name),
                    [](Communicator& communicator) { all_sizes(GetParam(), communicator); });
  }
}

// All messages wait for their receiver, or none does.
TEST_P(EveryRow, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.links.eager_bytes = eager_bytes;
    virtual_world::world({0, 0, 1, 0, 1}, options, [](Communicator& communicator) { all_sizes(GetParam(), communicator); });
    virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) { all_sizes(GetParam(), communicator); });
  }
}

// There are as many leaders as there may be, and more; all sends go ahead, and one does.
TEST(LeaderPipelined, obeys_its_parameters) {
  for (const char* parameters : {" leaders=2", " leaders=3 ahead=1", " leaders=100", " leaders=100 split=1", " leaders=4 split=50", " ahead=1"}) {
    virtual_world::WorldOptions options = forced((std::string("leader_pipelined") + parameters).c_str());
    for (const Nodes& nodes : worlds()) {
      SCOPED_TRACE(text_of(nodes) + parameters);
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t bytes : {0u, 1u, 100u, 700u}) {
          for (int again = 0; again < kLeaderCalls; ++again) checked_call(communicator, alltoall_shape(bytes, again % 3 == 0), ++call);
        }
      });
    }
  }
}

// All ranks or some have buffers that peers cannot read (pinned by a device driver).
TEST_P(EveryRow, is_right_where_buffers_cannot_be_read) {
  virtual_world::WorldOptions options = forced(GetParam().name);
  for (const int step : {1, 2}) {
    options.links.readable = [step](int rank) { return rank % step != 0; };
    virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) { all_sizes(GetParam(), communicator); });
  }
}

// Without a shared segment and without single copy only messages are left.
TEST_P(EveryRow, is_right_where_nothing_is_shared) {
  virtual_world::WorldOptions options = forced(GetParam().name);
  options.shared_segment = false;
  virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) {
    EXPECT_EQ(communicator.slot().control, nullptr);
    all_sizes(GetParam(), communicator);
  });
  options.shared_segment = true;
  options.single_copy = false;
  virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) { all_sizes(GetParam(), communicator); });
}

// There are thousands of calls whose send buffer is overwritten as soon as they return.
TEST_P(EveryRow, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kManyCallWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      const std::uint64_t calls = calls_of(GetParam(), communicator, alltoall_shape(600), kManyCalls);
      for (std::uint64_t call = 0; call < calls; ++call) {
        const std::size_t bytes = call < calls / 2 ? 600 : call % 2 == 0 ? 24 : 600;
        if (checked_call(communicator, alltoall_shape(bytes), call).plan == nullptr) return;
      }
    });
  }
}

// Ranks come late, up to 5 ms, in turn.
TEST_P(EveryRow, waits_for_late_ranks) {
  for (const Nodes& nodes : kManyCallWorlds) {
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      const std::uint64_t calls = calls_of(GetParam(), communicator, alltoall_shape(40), 40);
      for (std::uint64_t call = 0; call < calls; ++call) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 5000 : 0));
        checked_call(communicator, alltoall_shape(call % 3 == 0 ? 5000 : 40), call);
      }
    });
  }
}

// There is little scratch, so a row may not fit or must go in small chunks. The bytes are right.
TEST_P(EveryRow, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : little_scratch()) {
    SCOPED_TRACE(scratch);
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t bytes : kSizes) {
          for (const bool in_place : {false, true, false}) {
            const Outcome outcome = checked_call(communicator, alltoall_shape(bytes, in_place), ++call);
            if (outcome.plan == nullptr) return;
            EXPECT_LE(outcome.plan->scratch_bytes, communicator.topology.scratch_bytes);
            EXPECT_LE(outcome.plan->node_bytes, communicator.topology.scratch_bytes);
          }
        }
      });
    }
  }
}

// Random shapes follow one another on one communicator, with room for all plans, and for two.
TEST_P(EveryRow, mixes_shapes_on_one_communicator) {
  for (const std::uint64_t plans : {64u, 2u, 0u}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.plan_count = plans;
    for (const Nodes& nodes : kManyCallWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::mt19937 random(7);
        const std::uint64_t calls = calls_of(GetParam(), communicator, alltoall_shape(100), kMixedCalls);
        for (std::uint64_t call = 0; call < calls; ++call) {
          const std::size_t bytes = kSizes[random() % kMixedSizes];
          const bool in_place = random() % 2 == 0;
          if (checked_call(communicator, alltoall_shape(bytes, in_place), call).plan == nullptr) return;
          EXPECT_LE(communicator.slot().plans.size(), std::max<std::uint64_t>(1, communicator.settings.plan_count));
        }
      });
    }
  }
}

// Two communicators have the same ranks, and a thread of its own uses each on every rank.
TEST_P(EveryRow, two_communicators_at_the_same_time) {
  const auto many = [](std::uint64_t seed) {
    virtual_world::world({0, 0, 0}, forced(GetParam().name), [seed](Communicator& communicator) {
      std::mt19937_64 random(seed);
      for (std::uint64_t call = 0; call < 200; ++call) {
        checked_call(communicator, alltoall_shape(random() % 700), seed + call);
      }
    });
  };
  std::thread other(many, 1'000'000);
  many(1);
  other.join();
}

// There is no memory behind empty blocks: a null pointer is all a program may have.
TEST_P(EveryRow, takes_null_for_empty_blocks) {
  virtual_world::world({0, 0, 0}, forced(GetParam().name), [](Communicator& communicator) {
    for (const bool in_place : {false, true}) {
      for (int again = 0; again < 3; ++again) {
        EXPECT_TRUE(run_collective(communicator, alltoall_shape(0, in_place), {}).status.ok());
      }
    }
  });
}

// The tables choose by themselves, from one byte to beyond every limit between rows.
TEST(Default, is_right_whatever_it_chooses) {
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, {}, [](Communicator& communicator) {
      for (std::size_t bytes = 0; bytes < kLargest; bytes = bytes * 2 + 1) {
        for (const bool in_place : {false, true}) {
          for (std::uint64_t call = 0; call < kRepetitions; ++call) checked_call(communicator, alltoall_shape(bytes, in_place), call);
        }
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
