// These tests compare every row of the catalogues of allgatherv and reduce_scatter with their definitions: worlds x lengths of blocks x in place or
// not.

#include <bit>
#include <cmath>
#include <random>
#include <thread>

#include "tests/collectives/phases.h"
#include "tests/collectives/unequal_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCallsOfKind = 2, kManyCalls = 60, kMixedCalls = 12;
#else
constexpr std::uint64_t kCallsOfKind = 7, kManyCalls = 400, kMixedCalls = 150;
#endif
const Nodes kSomeWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

virtual_world::WorldOptions forced(const Algorithm& row, const std::string& parameters = "") {
  virtual_world::WorldOptions options;
  (row.collective == Collective::allgatherv ? options.settings.allgatherv : options.settings.reduce_scatter) = row.name + parameters;
  return options;
}

// The result of a reduce_scatter goes elsewhere. ScatteredBuffers sees to it.
std::vector<Side> sides_of(Collective collective) {
  return collective == Collective::allgatherv ? std::vector<Side>{Side::apart, Side::in_place} : std::vector<Side>{Side::apart};
}

class EveryUnequalRow : public testing::TestWithParam<Algorithm> {};

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : kUnequalCollectives) rows.insert(rows.end(), catalogue(one).begin(), catalogue(one).end());
  return rows;
}
INSTANTIATE_TEST_SUITE_P(unequal, EveryUnequalRow, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

// Makes calls with lengths of all kinds. The forced row carries them where it fits.
void all_counts(const Algorithm& row, Communicator& communicator) {
  std::uint64_t call = 0;
  for (const Counts counts : kCounts) {
    for (std::uint64_t again = 0; again < kCallsOfKind; ++again) {
      ++call;
      for (const Side side : sides_of(row.collective)) {
        const UnequalCall one{row.collective, counts, call, side};
        const Outcome outcome = checked_unequal(communicator, one);
        if (!outcome.status.ok()) return;
        const Shape shape = UnequalLayout(communicator.topology, one).shape;
        if (!row.fits(communicator.topology, shape)) continue;
        EXPECT_STREQ(outcome.plan->algorithm, row.name) << communicator.topology.text();
      }
    }
  }
}

TEST_P(EveryUnequalRow, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) { all_counts(GetParam(), communicator); });
  }
}

TEST_P(EveryUnequalRow, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.links.eager_bytes = eager_bytes;
    for (const Nodes& nodes : {Nodes{0, 0, 1, 0, 1}, Nodes{0, 0, 0, 0}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
    }
  }
}

TEST_P(EveryUnequalRow, is_right_where_nothing_is_shared) {
  virtual_world::WorldOptions options = forced(GetParam());
  options.shared_segment = false;
  virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) { all_counts(GetParam(), communicator); });
}

// Ranks with empty blocks leave early. Their memory may not be written over too early.
TEST_P(EveryUnequalRow, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kSomeWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      constexpr Counts kKinds[] = {Counts::sparse, Counts::random, Counts::one_row, Counts::long_blocks};
      for (std::uint64_t call = 0; call < kManyCalls; ++call) {
        const auto sides = sides_of(GetParam().collective);
        const UnequalCall one{GetParam().collective, kKinds[call / 7 % std::size(kKinds)], call, sides[call % sides.size()]};
        if (checked_unequal(communicator, one).plan == nullptr) return;
      }
    });
  }
}

TEST_P(EveryUnequalRow, waits_for_late_ranks) {
  for (const Nodes& nodes : kSomeWorlds) {
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      for (std::uint64_t call = 0; call < 40; ++call) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 5000 : 0));
        checked_unequal(communicator, {GetParam().collective, call % 3 == 0 ? Counts::long_blocks : Counts::sparse, call});
      }
    });
  }
}

// There is little scratch, so a row may not fit or must go in small parts.
TEST_P(EveryUnequalRow, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : little_scratch()) {
    SCOPED_TRACE(scratch);
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const Counts counts : kCounts) {
          for (const Side side : sides_of(GetParam().collective)) {
            const Outcome outcome = checked_unequal(communicator, {GetParam().collective, counts, ++call, side});
            if (outcome.plan == nullptr) return;
            EXPECT_LE(outcome.plan->scratch_bytes, communicator.topology.scratch_bytes);
            EXPECT_LE(outcome.plan->node_bytes, communicator.topology.scratch_bytes);
          }
        }
      });
    }
  }
}

// Random calls follow one another on one communicator, with other collectives between them, with room for all plans, and for two.
TEST_P(EveryUnequalRow, mixes_shapes_on_one_communicator) {
  for (const std::uint64_t plans : {64u, 2u, 0u}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.plan_count = plans;
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::mt19937 random(7);
        for (std::uint64_t call = 0; call < kMixedCalls; ++call) {
          const Counts counts = kCounts[random() % std::size(kCounts)];
          const unsigned other = random() % 5;
          if (other == 0) checked_call(communicator, alltoall_shape(random() % 3000), call);
          if (other == 1) checked_allreduce(communicator, allreduce_shape(random() % 3000), call);
          if (other == 2) checked_gathering(communicator, allgather_shape(random() % 3000), call);
          if (checked_unequal(communicator, {GetParam().collective, counts, call}).plan == nullptr) return;
        }
      });
    }
  }
}

// Parts and packets have all sizes.
TEST_P(EveryUnequalRow, obeys_its_parameters) {
  for (const char* parameters : {" part=0", " part=64", " part=100", " part=1G", " packet=0 part=4K", " packet=64K", " packet=0 uncached=0"}) {
    const bool uncached = std::string(parameters).find("uncached") != std::string::npos;
    const bool packets = std::string(parameters).find("packet") != std::string::npos;
    if (GetParam().parameters.empty() || (packets && std::string(GetParam().name) != "node_shared")) continue;
    if (uncached && GetParam().collective != Collective::allgatherv) continue;
    SCOPED_TRACE(parameters);
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, forced(GetParam(), parameters), [](Communicator& communicator) {
        std::uint64_t call = 0;
        for (const Counts counts : {Counts::random, Counts::sparse, Counts::around_limits}) {
          for (const Side side : sides_of(GetParam().collective)) checked_unequal(communicator, {GetParam().collective, counts, ++call, side});
        }
      });
    }
  }
}

// Ranks that ask for calls of different sizes hear it.
TEST_P(EveryUnequalRow, finds_out_that_ranks_differ) {
  virtual_world::WorldOptions options = forced(GetParam());
  options.settings.patience_ms = 20;
  world_that_ends_together({0, 0, 0}, options, [&](Communicator& communicator) {
    const UnequalCall ours{GetParam().collective, Counts::uniform, 3};
    ASSERT_TRUE(checked_unequal(communicator, ours).status.ok());
    UnequalCase one(communicator.topology, {GetParam().collective, Counts::uniform, communicator.topology.rank == 1 ? 5u : 3u});
    const Outcome outcome = run_collective(communicator, one.layout().shape, one.buffers());
    EXPECT_EQ(outcome.status.code, Code::mismatch) << outcome.status.what;
  });
}

// Returns doubles of sizes far apart. Every other order rounds to other bits.
double number_of(int rank, std::size_t place) {
  const std::uint64_t word = mix_word(mix_word(kHashSeed, static_cast<std::uint64_t>(rank)), place);
  return std::ldexp((1 + static_cast<double>(word >> 12) * 0x1p-52) * (word % 2 == 0 ? 1 : -1), static_cast<int>((word >> 1) % 24));
}

// Checks ((r0 + r1) + r2) + ..., whatever the algorithm, on one node and on several.
void folds_in_order(Communicator& communicator, Counts counts, std::uint64_t call) {
  const Topology& topology = communicator.topology;
  UnequalCall kind{Collective::reduce_scatter, counts, call * std::size(kCounts) + 1};  // They are of float64.
  while (kind.reduction().element != Element::float64) ++kind.call;
  const UnequalLayout layout(topology, kind);
  std::vector<double> send(layout.row / sizeof(double)), recv(layout.own / sizeof(double));
  for (std::size_t place = 0; place < send.size(); ++place) send[place] = number_of(topology.rank, place);
  const Buffers buffers{reinterpret_cast<std::byte*>(send.data()), reinterpret_cast<std::byte*>(recv.data()), layout.blocks.data()};
  const Outcome outcome = run_collective(communicator, layout.shape, buffers);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.what;
  ASSERT_FALSE(outcome.plan->native() && layout.shape.block_bytes > 0 && topology.size > 1);
  const auto first = static_cast<std::size_t>(layout.blocks[static_cast<std::size_t>(topology.rank)].offset) / sizeof(double);
  for (std::size_t place = 0; place < recv.size() && !outcome.plan->native(); ++place) {
    double sum = number_of(0, first + place);
    for (int rank = 1; rank < topology.size; ++rank) sum += number_of(rank, first + place);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(recv[place])) << kind.text() << " by " << outcome.plan->algorithm;
  }
}

TEST_P(EveryUnequalRow, keeps_the_order_of_the_ranks_where_that_is_asked_for) {
  if (GetParam().collective != Collective::reduce_scatter) return;
  virtual_world::WorldOptions options = forced(GetParam());
  options.settings.reproducible = 1;
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, options, [](Communicator& communicator) {
      std::uint64_t call = 0;
      for (const Counts counts : kCounts) folds_in_order(communicator, counts, ++call);
    });
  }
}

// Plans are for sizes up to the next power of two.
TEST(MeanClass, is_the_mean_rounded_up) {
  EXPECT_EQ(mean_class(0, 4), 0u);
  EXPECT_EQ(mean_class(1, 4), 1u);
  EXPECT_EQ(mean_class(4, 4), 1u);
  EXPECT_EQ(mean_class(5, 4), 2u);
  EXPECT_EQ(mean_class(4 * 512, 4), 512u);
  EXPECT_EQ(mean_class(4 * 512 + 1, 4), 1024u);
  EXPECT_EQ(mean_class(std::uint64_t{1} << 40, 1), std::uint64_t{1} << 40);
}

// The tables choose by themselves.
TEST(UnequalDefault, is_right_whatever_it_chooses) {
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, {}, [](Communicator& communicator) {
      for (const Collective collective : kUnequalCollectives) {
        std::uint64_t call = 0;
        for (const Counts counts : kCounts) {
          for (const Side side : sides_of(collective)) checked_unequal(communicator, {collective, counts, ++call, side});
        }
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
