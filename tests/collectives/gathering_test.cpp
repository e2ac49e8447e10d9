// These tests compare every row of the catalogues of allgather and reduce_scatter_block with their definitions: worlds x sizes x in place or not.

#include <random>
#include <thread>

#include "tests/collectives/gathering_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kManyCalls = 60, kMixedCalls = 12;
constexpr std::size_t kLargest = 10'000;
constexpr std::size_t kCounts[] = {0, 1, 3, 14, 15, 257, 5000};
constexpr std::size_t kCountsOfParts[] = {1, 15, 17, 300};
#else
constexpr std::uint64_t kManyCalls = 400, kMixedCalls = 150;
constexpr std::size_t kLargest = 60'000;
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 13, 14, 15, 64, 256, 257, 2049, 20'000};
constexpr std::size_t kCountsOfParts[] = {1, 15, 17, 300, 2000};
#endif
constexpr Side kSides[] = {Side::apart, Side::in_place};
constexpr Reduction kReductions[] = {{Operation::sum, Element::int32}, {Operation::sum, Element::float64}, {Operation::maximum, Element::int32}};
const Nodes kSomeWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

// An allgather has bytes, odd numbers of them, too.
Shape shape_of(Collective collective, std::size_t count, std::uint64_t call) {
  return collective == Collective::allgather ? allgather_shape(count * 4 - (count > 0 ? call % 4 : 0)) : reduce_scatter_shape(count, kReductions[call % std::size(kReductions)]);
}

virtual_world::WorldOptions forced(const Algorithm& row, const std::string& parameters = "") {
  virtual_world::WorldOptions options;
  (row.collective == Collective::allgather ? options.settings.allgather : options.settings.reduce_scatter_block) = row.name + parameters;
  return options;
}

class EveryRow : public testing::TestWithParam<Algorithm> {};

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : {Collective::allgather, Collective::reduce_scatter_block}) {
    rows.insert(rows.end(), catalogue(one).begin(), catalogue(one).end());
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(gathering, EveryRow, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

// Makes calls of all sizes. The forced row carries them where it fits.
void all_counts(const Algorithm& row, Communicator& communicator) {
  std::uint64_t call = 0;
  for (const std::size_t count : kCounts) {
    for (const Side side : kSides) {
      for (int again = 0; again < 2; ++again) {
        const Shape shape = shape_of(row.collective, count, ++call);
        const Outcome outcome = checked_gathering(communicator, shape, call, side);
        if (!outcome.status.ok()) return;
        if (!row.fits(communicator.topology, shape)) continue;
        EXPECT_STREQ(outcome.plan->algorithm, row.name) << communicator.topology.text();
      }
    }
  }
}

TEST_P(EveryRow, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) { all_counts(GetParam(), communicator); });
  }
}

TEST_P(EveryRow, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.links.eager_bytes = eager_bytes;
    for (const Nodes& nodes : {Nodes{0, 0, 1, 0, 1}, Nodes{0, 0, 0, 0}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
    }
  }
}

TEST_P(EveryRow, is_right_where_nothing_is_shared) {
  virtual_world::WorldOptions options = forced(GetParam());
  options.shared_segment = false;
  virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
}

TEST_P(EveryRow, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kSomeWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      const std::uint64_t calls = calls_of(GetParam(), communicator, shape_of(GetParam().collective, 1200, 0), kManyCalls);
      for (std::uint64_t call = 0; call < calls; ++call) {
        const std::size_t count = call < calls / 2 ? 1200 : call % 3 == 0 ? 2 : call % 3 == 1 ? 1200 : 70;
        if (checked_gathering(communicator, shape_of(GetParam().collective, count, call / 5), call, kSides[call / 5 % 2]).plan == nullptr) return;
      }
    });
  }
}

TEST_P(EveryRow, waits_for_late_ranks) {
  for (const Nodes& nodes : kSomeWorlds) {
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      const std::uint64_t calls = calls_of(GetParam(), communicator, shape_of(GetParam().collective, 10, 0), 40);
      for (std::uint64_t call = 0; call < calls; ++call) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 5000 : 0));
        checked_gathering(communicator, shape_of(GetParam().collective, call % 3 == 0 ? 5000 : 10, call), call);
      }
    });
  }
}

// There is little scratch, so a row may not fit or must go in small parts.
TEST_P(EveryRow, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : little_scratch()) {
    SCOPED_TRACE(scratch);
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t count : kCounts) {
          for (const Side side : kSides) {
            ++call;
            const Outcome outcome = checked_gathering(communicator, shape_of(GetParam().collective, count, call), call, side);
            if (outcome.plan == nullptr) return;
            EXPECT_LE(outcome.plan->scratch_bytes, communicator.topology.scratch_bytes);
            EXPECT_LE(outcome.plan->node_bytes, communicator.topology.scratch_bytes);
          }
        }
      });
    }
  }
}

// Random shapes follow one another on one communicator, with other collectives between them, with room for all plans, and for two.
TEST_P(EveryRow, mixes_shapes_on_one_communicator) {
  for (const std::uint64_t plans : {64u, 2u, 0u}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.plan_count = plans;
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::mt19937 random(7);
        const std::uint64_t calls = calls_of(GetParam(), communicator, shape_of(GetParam().collective, 100, 0), kMixedCalls);
        for (std::uint64_t call = 0; call < calls; ++call) {
          const std::size_t count = kCounts[random() % std::size(kCounts)];
          const unsigned other = random() % 4;
          if (other == 0) checked_call(communicator, alltoall_shape(random() % 3000), call);
          if (other == 1) checked_allreduce(communicator, allreduce_shape(random() % 3000), call);
          if (checked_gathering(communicator, shape_of(GetParam().collective, count, call), call).plan == nullptr) return;
        }
      });
    }
  }
}

TEST_P(EveryRow, takes_null_for_nothing) {
  virtual_world::world({0, 0, 1}, forced(GetParam()), [](Communicator& communicator) {
    for (int again = 0; again < 3; ++again) EXPECT_TRUE(run_collective(communicator, shape_of(GetParam().collective, 0, 0), Buffers{}).status.ok());
  });
}

// Parts and packets have all sizes.
TEST_P(EveryRow, obeys_its_parameters) {
  for (const char* parameters : {" part=0", " part=64", " part=100", " part=1G", " packet=0 part=4K", " packet=64K", " packet=0 uncached=0"}) {
    const bool uncached = std::string(parameters).find("uncached") != std::string::npos;
    const bool packets = std::string(parameters).find("packet") != std::string::npos;
    const bool has_packets = std::string(GetParam().name) == "node_shared";
    if (GetParam().parameters.empty() || (packets && !has_packets)) continue;
    if (uncached && GetParam().collective != Collective::allgather) continue;
    SCOPED_TRACE(parameters);
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, forced(GetParam(), parameters), [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const std::size_t count : kCountsOfParts) {
          for (const Side side : kSides) {
            ++call;
            checked_gathering(communicator, shape_of(GetParam().collective, count, call), call, side);
          }
        }
      });
    }
  }
}

// Ranks that ask for different things hear it.
TEST_P(EveryRow, finds_out_that_ranks_differ) {
  const Shape ours = shape_of(GetParam().collective, 100, 0), others[] = {shape_of(GetParam().collective, 101, 0), alltoall_shape(400)};
  for (const Shape& other : others) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.patience_ms = 20;
    world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
      ASSERT_TRUE(checked_gathering(communicator, ours, 1).status.ok());
      std::vector<std::byte> send(2000), recv(2000);
      const Outcome outcome = run_collective(communicator, communicator.topology.rank == 1 ? other : ours, Buffers{send.data(), recv.data()});
      EXPECT_EQ(outcome.status.code, Code::mismatch) << outcome.status.what;
    });
  }
}

// The tables choose by themselves, from nothing to beyond every limit between rows.
TEST(Default, is_right_whatever_it_chooses) {
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, {}, [](Communicator& communicator) {
      for (const Collective collective : {Collective::allgather, Collective::reduce_scatter_block}) {
        for (std::size_t count = 0; count < kLargest; count = count * 2 + 1) {
          for (const Side side : kSides) checked_gathering(communicator, shape_of(collective, count, count), count, side);
        }
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
