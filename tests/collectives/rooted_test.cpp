// These tests compare every row of the catalogues of gather, scatter and their v forms with their definitions: worlds x roots x sizes x in place or
// not.

#include <random>
#include <thread>

#include "tests/collectives/phases.h"
#include "tests/collectives/rooted_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kManyCalls = 60, kMixedCalls = 20;
constexpr std::size_t kLargest = 10'000;
constexpr std::size_t kSizes[] = {0, 1, 8, 57, 1025, 9000};
constexpr std::size_t kPartSizes[] = {1, 57, 600};
#else
constexpr std::uint64_t kManyCalls = 400, kMixedCalls = 150;
constexpr std::size_t kLargest = 300'000;
constexpr std::size_t kSizes[] = {0, 1, 8, 40, 41, 56, 57, 1000, 1024, 1025, 8192, 8193, 30'000};
constexpr std::size_t kPartSizes[] = {1, 57, 600, 2049, 9000};
#endif
constexpr Side kSides[] = {Side::apart, Side::in_place};
const Nodes kSomeWorlds[] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

virtual_world::WorldOptions forced(const Algorithm& row, const std::string& parameters = "") {
  virtual_world::WorldOptions options;
  setting_of(options.settings, row.collective) = row.name + parameters;
  return options;
}

class EveryRooted : public testing::TestWithParam<Algorithm> {
 protected:
  static RootedCall call_of(std::size_t bytes, int root, std::uint64_t number, Side side = Side::apart) {
    return {GetParam().collective, bytes, root, number, side};
  }
  static bool single_copy() { return std::string_view(GetParam().name) == "node_single_copy"; }

  // Makes calls of all sizes with all ranks as roots. The forced row carries them where it fits.
  static void all_sizes(Communicator& communicator) {
    std::uint64_t number = 0;
    for (const std::size_t bytes : kSizes) {
      for (const Side side : kSides) {
        for (int again = 0; again < 4; ++again) {
          ++number;
          const RootedCall call = call_of(bytes, static_cast<int>(number / 2) % communicator.topology.size, number, side);
          const Outcome outcome = checked_rooted(communicator, call);
          if (!outcome.status.ok()) return;
          if (!GetParam().fits(communicator.topology, call.shape())) continue;
          EXPECT_STREQ(outcome.plan->algorithm, GetParam().name) << communicator.topology.text();
        }
      }
    }
  }
};

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : kRooted) rows.insert(rows.end(), catalogue(one).begin(), catalogue(one).end());
  return rows;
}
INSTANTIATE_TEST_SUITE_P(rooted, EveryRooted, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

TEST_P(EveryRooted, agrees_with_the_definition) {
  for (const Nodes& nodes : worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), all_sizes);
  }
}

TEST_P(EveryRooted, does_not_depend_on_when_messages_are_copied) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.links.eager_bytes = eager_bytes;
    for (const Nodes& nodes : {Nodes{0, 0, 1, 0, 1}, Nodes{0, 0, 0, 0}}) virtual_world::world(nodes, options, all_sizes);
  }
}

TEST_P(EveryRooted, is_right_where_nothing_is_shared) {
  virtual_world::WorldOptions options = forced(GetParam());
  options.shared_segment = false;
  virtual_world::world({0, 0, 0, 0}, options, all_sizes);
}

// Some ranks may not read others' memory, or nobody may read theirs, whatever the ranks believe.
TEST_P(EveryRooted, is_right_where_memory_cannot_be_read) {
  for (const bool reader : {true, false}) {
    virtual_world::WorldOptions options = forced(GetParam());
    const auto odd = [](int rank) { return rank % 2 != 0; };
    if (reader) options.links.may_read = odd;
    else options.links.readable = odd;
    virtual_world::world({0, 0, 0, 0, 0}, options, all_sizes);
  }
}

// One rank is root for a while, then one after the other.
TEST_P(EveryRooted, returns_when_no_peer_still_reads) {
  for (const Nodes& nodes : kSomeWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      const std::uint64_t calls = calls_of(GetParam(), communicator, call_of(1200, 0, 0).shape(), kManyCalls);
      for (std::uint64_t number = 0; number < calls; ++number) {
        const std::size_t bytes = number < calls / 2 ? 1200 : number % 3 == 0 ? 2 : number % 3 == 1 ? 1200 : 70'000;
        const int root = static_cast<int>(number % 100 < 50 ? number / 100 : number) % communicator.topology.size;
        if (checked_rooted(communicator, call_of(bytes, root, number, kSides[number / 5 % 2])).plan == nullptr) return;
      }
    });
  }
}

TEST_P(EveryRooted, waits_for_late_ranks) {
  for (const Nodes& nodes : kSomeWorlds) {
    virtual_world::world(nodes, forced(GetParam()), [](Communicator& communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
      const std::uint64_t calls = calls_of(GetParam(), communicator, call_of(10, 0, 0).shape(), 60);
      for (std::uint64_t number = 0; number < calls; ++number) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3 == 0 ? random() % 5000 : 0));
        const int root = static_cast<int>(number < 30 ? 1 : number) % communicator.topology.size;
        checked_rooted(communicator, call_of(number % 3 == 0 ? 20'000 : 10, root, number));
      }
    });
  }
}

// There is little scratch, so a row may not fit or must go in small parts.
TEST_P(EveryRooted, is_right_with_little_scratch) {
  for (const std::uint64_t scratch : little_scratch()) {
    SCOPED_TRACE(scratch);
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::uint64_t number = 0;
        for (const std::size_t bytes : kSizes) {
          for (const Side side : kSides) {
            ++number;
            const Outcome outcome = checked_rooted(communicator, call_of(bytes, static_cast<int>(number) % communicator.topology.size, number, side));
            if (!outcome.status.ok()) return;
            EXPECT_LE(outcome.plan->scratch_bytes, communicator.topology.scratch_bytes);
          }
        }
      });
    }
  }
}

// Random shapes follow one another on one communicator, with other collectives between them, with room for all plans, and for two.
TEST_P(EveryRooted, mixes_shapes_on_one_communicator) {
  for (const std::uint64_t plans : {64u, 2u, 0u}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.settings.plan_count = plans;
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        std::mt19937 random(7);
        const auto size = static_cast<unsigned>(communicator.topology.size);
        const std::uint64_t calls = calls_of(GetParam(), communicator, call_of(100, 0, 0).shape(), kMixedCalls);
        for (std::uint64_t number = 0; number < calls; ++number) {
          const std::size_t bytes = kSizes[random() % std::size(kSizes)];
          const int root = static_cast<int>(random() % size);
          const unsigned other = random() % 4;
          if (other == 0) checked_call(communicator, alltoall_shape(random() % 3000), number);
          if (other == 1) checked_rooted(communicator, {kRooted[random() % std::size(kRooted)], random() % 3000, root, number});
          if (!checked_rooted(communicator, call_of(bytes, root, number)).status.ok()) return;
        }
      });
    }
  }
}

// Parts and packets have all sizes.
TEST_P(EveryRooted, obeys_its_parameters) {
  if (GetParam().parameters.empty()) return;
  const bool has_part = !row_of(GetParam().collective).reduces && row_of(GetParam().collective).counts == crossrail::Counts::block;
  for (const char* parameters : {" packet=0", " packet=64K", has_part ? " packet=0 part=0" : " direct=0", has_part ? " packet=64 part=100" : " direct=1M"}) {
    SCOPED_TRACE(parameters);
    for (const Nodes& nodes : kSomeWorlds) {
      virtual_world::world(nodes, forced(GetParam(), parameters), [](Communicator& communicator) {
        std::uint64_t number = 0;
        for (const std::size_t bytes : kPartSizes) {
          for (const Side side : kSides) {
            ++number;
            checked_rooted(communicator, call_of(bytes, static_cast<int>(number) % communicator.topology.size, number, side));
          }
        }
      });
    }
  }
}

// The tables choose by themselves, from nothing to beyond every limit between rows.
TEST(DefaultRooted, is_right_whatever_it_chooses) {
  for (const Nodes& nodes : worlds()) {
    virtual_world::world(nodes, {}, [](Communicator& communicator) {
      for (const Collective collective : kRooted) {
        for (std::size_t bytes = 0; bytes < kLargest; bytes = bytes * 2 + 1) {
          for (const Side side : kSides) checked_rooted(communicator, {collective, bytes, static_cast<int>(bytes % 7) % communicator.topology.size, bytes, side});
        }
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
