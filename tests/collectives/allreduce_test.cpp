// These tests compare every row of the catalogue with the definition of allreduce: worlds x counts x operations x in place or not.

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "tests/collectives/allreduce_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRepetitions = 1;
constexpr std::uint64_t kManyCalls = 120;
constexpr std::uint64_t kMixedCalls = 12;
constexpr std::size_t kLargest = 40'000;  // The code of larger ones is that of these; the release build checks their bytes.
constexpr std::size_t kCounts[] = {0, 1, 3, 13, 14, 15, 100, 257, 2049, 32769};
#else
constexpr std::uint64_t kRepetitions = 3;
constexpr std::uint64_t kManyCalls = 1000;
constexpr std::uint64_t kMixedCalls = 150;
constexpr std::size_t kLargest = 300'000;
// The counts are around packets (14 int32 each), the longest row that travels in packets, shares, and parts of 128 KiB.
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 5, 8, 13, 14, 15, 29, 64, 100, 255, 256, 257, 1000, 2049, 32768, 32769, 70001};
#endif
constexpr Reduction kReductions[] = {{Operation::sum, Element::int32}, {Operation::sum, Element::float64}, {Operation::maximum, Element::int32},
                                     {Operation::minimum, Element::float64}, {Operation::product, Element::int32}, {Operation::bitwise_xor, Element::int32}};
constexpr Side kSides[] = {Side::apart, Side::in_place};

virtual_world::WorldOptions forced(const std::string& algorithm) {
  virtual_world::WorldOptions options;
  options.settings.allreduce = algorithm;
  return options;
}

const Nodes kSomeWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

class EveryRow : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(allreduce, EveryRow,
                         testing::ValuesIn(catalogue(Collective::allreduce).begin(), catalogue(Collective::allreduce).end()),
                         [](const auto& row) { return std::string(row.param.name); });

// The forced row carries the call where it fits. Where it does not, another one does, and the results are right all the same.
void expect_row(const Algorithm& row, const Communicator& communicator, const Shape& shape, const Outcome& outcome) {
  if (!outcome.status.ok()) return;
  EXPECT_EQ(row.fits(communicator.topology, shape), std::string(row.name) == outcome.plan->algorithm)
      << row.name << " on " << communicator.topology.text() << ", got " << outcome.plan->algorithm;
}

void all_counts(const Algorithm& row, Communicator& communicator) {
  std::uint64_t call = 0;
  for (const std::size_t count : kCounts) {
    for (const Side side : kSides) {
      const std::uint64_t calls = row.fits(communicator.topology, allreduce_shape(count)) ? kRepetitions : 1;
      for (std::uint64_t again = 0; again < calls; ++again) {
        const Shape shape = allreduce_shape(count, kReductions[++call % std::size(kReductions)]);
        expect_row(row, communicator, shape, checked_allreduce(communicator, shape, call, side));
      }
    }
  }
}

TEST_P(EveryRow, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) { all_counts(GetParam(), communicator); });
  }
}

// Some ranks give MPI_IN_PLACE, others two buffers, as with bindings that look at addresses. MPI libraries carry it.
TEST_P(EveryRow, does_not_care_who_is_in_place) {
  for (const Nodes& nodes : kSomeWorlds) {
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      std::uint64_t call = 0;
      for (const std::size_t count : kCounts) {
        const Side side = kSides[(static_cast<std::uint64_t>(communicator.topology.rank) + ++call) % 2];
        checked_allreduce(communicator, allreduce_shape(count), call, side);
      }
    });
  }
}

// All messages wait for their receiver, or none does.
TEST_P(EveryRow, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.links.eager_bytes = eager_bytes;
    for (const Nodes& nodes : {Nodes{0, 0, 1, 0, 1}, Nodes{0, 0, 0, 0}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
    }
  }
}

TEST_P(EveryRow, is_right_where_nothing_is_shared) {
  virtual_world::WorldOptions options = forced(GetParam().name);
  options.shared_segment = false;
  virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
}

// What was allowed when the communicator was opened may be refused later, to some ranks or at times.
TEST_P(EveryRow, is_right_where_reading_is_refused) {
  std::atomic<unsigned> reads{0};
  const std::function<bool(int)> ways[] = {[](int rank) { return rank % 2 == 0; }, [&](int) { return ++reads % 3 != 0; }};
  for (const auto& way : ways) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.links.may_read = way;
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
    }
  }
}

// There are thousands of calls whose send buffer is overwritten as soon as they return.
TEST_P(EveryRow, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kSomeWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      const std::uint64_t calls = calls_of(GetParam(), communicator, allreduce_shape(1200), kManyCalls);
      for (std::uint64_t call = 0; call < calls; ++call) {
        const std::size_t count = call < calls / 2 ? 1200 : call % 3 == 0 ? 7 : call % 3 == 1 ? 1200 : 70;
        if (checked_allreduce(communicator, allreduce_shape(count), call, kSides[call / 5 % 2]).plan == nullptr) return;
      }
    });
  }
}

TEST_P(EveryRow, waits_for_late_ranks) {
  for (const Nodes& nodes : kSomeWorlds) {
    virtual_world::world(nodes, forced(GetParam().name), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      const std::uint64_t calls = calls_of(GetParam(), communicator, allreduce_shape(10), 40);
      for (std::uint64_t call = 0; call < calls; ++call) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 5000 : 0));
        checked_allreduce(communicator, allreduce_shape(call % 3 == 0 ? 5000 : 10), call);
      }
    });
  }
}

// There is little scratch, so a row may not fit or must go in small parts.
TEST_P(EveryRow, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : little_scratch()) {
    SCOPED_TRACE(scratch);
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t count : kCounts) {
          for (const Side side : kSides) {
            const Outcome outcome = checked_allreduce(communicator, allreduce_shape(count), ++call, side);
            if (outcome.plan == nullptr) return;
            EXPECT_LE(outcome.plan->scratch_bytes, communicator.topology.scratch_bytes);
            EXPECT_LE(outcome.plan->node_bytes, communicator.topology.scratch_bytes);
          }
        }
      });
    }
  }
}

// Random shapes follow one another on one communicator, with alltoalls between them, with room for all plans, and for two.
TEST_P(EveryRow, mixes_shapes_on_one_communicator) {
  for (const std::uint64_t plans : {64u, 2u, 0u}) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.plan_count = plans;
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::mt19937 random(7);
        const std::uint64_t calls = calls_of(GetParam(), communicator, allreduce_shape(100), kMixedCalls);
        for (std::uint64_t call = 0; call < calls; ++call) {
          const std::size_t count = kCounts[random() % std::size(kCounts)];
          const Reduction reduction = kReductions[random() % std::size(kReductions)];
          if (random() % 3 == 0) checked_call(communicator, alltoall_shape(random() % 3000), call);
          if (checked_allreduce(communicator, allreduce_shape(count, reduction), call).plan == nullptr) return;
        }
      });
    }
  }
}

// There is no memory behind no elements: a null pointer is all a program may have.
TEST_P(EveryRow, takes_null_for_nothing) {
  virtual_world::world({0, 0, 1}, forced(GetParam().name), [](Communicator& communicator) {
    for (int again = 0; again < 3; ++again) EXPECT_TRUE(run_collective(communicator, allreduce_shape(0), {}).status.ok());
  });
}

// The sum of these numbers depends on the order. All ranks have the same bits, call after call.
TEST_P(EveryRow, gives_all_ranks_the_same_bits) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    constexpr std::size_t kPlaces = 3001;
    std::vector<std::vector<double>> results(nodes.size());
    world_that_ends_together(nodes, forced(GetParam().name), [&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.topology.rank);
      for (const std::size_t count : {std::size_t{3}, kPlaces}) {
        std::vector<double> send(count), recv(count), again(count);
        std::mt19937_64 random(rank);
        for (double& one : send) one = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 120)) * (random() % 2 == 0 ? 1 : -1);
        send[0] = rank % 2 == 0 ? -0.0 : 0.0;
        send[1] = std::numeric_limits<double>::quiet_NaN();
        std::memcpy(&send[1], &rank, 1);  // This chooses which NaN.
        Shape shape = allreduce_shape(count, {Operation::sum, Element::float64});
        for (const Operation operation : {Operation::sum, Operation::minimum}) {
          shape.reduction.operation = operation;
          for (std::vector<double>* to : {&recv, &again}) {
            const Buffers buffers{reinterpret_cast<std::byte*>(send.data()), reinterpret_cast<std::byte*>(to->data())};
            ASSERT_TRUE(run_collective(communicator, shape, buffers).status.ok());
          }
          EXPECT_EQ(std::memcmp(recv.data(), again.data(), count * sizeof(double)), 0);
          results[rank].insert(results[rank].end(), recv.begin(), recv.end());
        }
      }
    });
    for (const std::vector<double>& one : results) {
      ASSERT_EQ(one.size(), results[0].size());
      EXPECT_EQ(std::memcmp(one.data(), results[0].data(), one.size() * sizeof(double)), 0);
    }
  }
}

// Parts and lanes have all sizes, also where some reads are refused.
TEST(Parameters, are_obeyed) {
  std::atomic<unsigned> reads{0};
  for (const char* wanted : {"node_shared packet=0 part=64", "node_shared packet=0 part=100", "node_shared packet=64K", "node_shared packet=64K flat=0", "node_shared part=1G",
                             "node_shared packet=0 uncached=0", "node_single_copy read=64", "node_single_copy read=1G uncached=0", "node_single_copy part=64", "node_single_copy part=0",
                             "multi_lane part=64", "multi_lane split=0", "multi_lane split=64 halving=0 uncached=0", "multi_lane split=1G", "multi_lane part=1K split=64 halving=1G",
                             "multi_lane circling=0", "multi_lane part=1K split=0 circling=0", "multi_lane part=64 split=0 circling=4", "multi_lane part=3K split=64 halving=1K circling=500"}) {
    for (const Nodes& nodes : worlds()) {
      SCOPED_TRACE(text_of(nodes) + " " + wanted);
      virtual_world::WorldOptions options = forced(wanted);
      options.links.may_read = [&reads](int) { return ++reads % 50 != 0; };
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t count : {1u, 15u, 17u, 300u, 4000u}) {
          for (const Side side : kSides) {
            for (int again = 0; again < 3; ++again) checked_allreduce(communicator, allreduce_shape(count), ++call, side);
          }
        }
      });
    }
  }
}

// Ranks that ask for different things hear it.
TEST_P(EveryRow, finds_out_that_ranks_differ) {
  const Shape ours = allreduce_shape(100), others[] = {allreduce_shape(101), allreduce_shape(100, {Operation::maximum, Element::int32}),
                                                       allreduce_shape(50, {Operation::sum, Element::float64}), alltoall_shape(400)};
  for (const Shape& other : others) {
    virtual_world::WorldOptions options = forced(GetParam().name);
    options.settings.patience_ms = 20;
    std::vector<std::byte> send[3], recv[3];  // Others may still read what a rank has left with an error.
    world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
      ASSERT_TRUE(checked_allreduce(communicator, ours, 1).status.ok());
      const int rank = communicator.topology.rank;
      send[rank].resize(2000), recv[rank].resize(2000);
      const Shape& mine = rank == 1 ? other : ours;
      const Outcome outcome = run_collective(communicator, mine, Buffers{send[rank].data(), recv[rank].data()});
      EXPECT_EQ(outcome.status.code, Code::mismatch) << outcome.status.what;
    });
  }
}

// The tables choose by themselves, from one element to beyond every limit between rows.
TEST(Default, is_right_whatever_it_chooses) {
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, {}, [](Communicator& communicator) {
      for (std::size_t count = 0; count < kLargest; count = count * 2 + 1) {
        for (const Side side : kSides) checked_allreduce(communicator, allreduce_shape(count), count, side);
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
