// These tests run allreduce on device memory on several nodes. Each node does its part on its devices where all of its ranks have their elements
// there, and by its processors elsewhere. The others see no difference.

#include <atomic>

#include "tests/collectives/allreduce_device_case.h"

namespace crossrail::tests {
namespace {

const Nodes kWorlds[] = {{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 1}, {0, 0, 1, 1, 2, 2, 2}, {0, 0, 0, 0, 1, 2, 2, 2}};

// These lanes halve what is long, never halve (of two nodes, the devices combine what these exchange), or let all go round.
constexpr const char *kHalving = "multi_lane", *kWhole = "multi_lane halving=1G", *kCircling = "multi_lane circling=0";
constexpr const char* kWays[] = {kHalving, kWhole, kCircling};
virtual_world::WorldOptions in_lanes(const char* way = kHalving) { return forced_reduction(way); }

class DevicesOfNodes : public testing::Test, protected WithHostDevice {
 protected:
  // Makes calls with all counts and operations, whoever is in place. Returns the calls that this rank's node has done on its devices.
  static std::uint64_t all_calls(Communicator& communicator, Kinds kinds = {}) {
    std::uint64_t call = 0, on_devices = 0;
    for (const std::size_t count : kCounts) {
      for (int variant = 0; variant < 4; ++variant) {
        const Shape shape = allreduce_shape(count, kReductions[++call % std::size(kReductions)]);
        const bool mixed = variant == 3 && communicator.topology.rank % 2 == 0;
        const Outcome outcome = checked(communicator, shape, call, variant == 1 || mixed ? Side::in_place : Side::apart, kinds);
        if (!outcome.status.ok()) return 0;
        on_devices += outcome.plan->calls_on_devices > 0 ? 1 : 0;
      }
    }
    return on_devices;
  }
  static constexpr std::uint64_t kCalls = 4 * (std::size(kCounts) - 1);  // Calls of nothing are not counted.
};

TEST_F(DevicesOfNodes, agree_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    for (const char* const way : kWays) {
      virtual_world::world(nodes, in_lanes(way), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), kCalls); });
    }
  }
}

// The MPI library says that it takes device memory, so parts that no processor combines travel straight.
TEST_F(DevicesOfNodes, send_straight_from_their_memory) {
  for (const Nodes& nodes : kWorlds) {
    for (const char* const way : {kHalving, kWhole}) {
      std::atomic<int> straight{0};
      virtual_world::WorldOptions options = in_lanes(way);
      options.settings.device_messages = 2;
      options.links.touchable = host_device_touchable;
      virtual_world::world(nodes, options, [&](Communicator& communicator) {
        EXPECT_EQ(all_calls(communicator), kCalls);
        if (communicator.slot().devices->message_room().where() == MessageRoom::Where::device) ++straight;
      });
      if (nodes.size() == 2 && way == kWhole) {
        EXPECT_EQ(straight, 2);
      }
    }
  }
}

TEST_F(DevicesOfNodes, wait_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 1, 1}, in_lanes(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), kCalls); });
}

// There is more than fits a part, so many parts go one after the other in the rooms for messages.
TEST_F(DevicesOfNodes, go_part_by_part) {
  for (const char* const way : kWays) {
    virtual_world::world({0, 0, 1, 1, 1}, in_lanes(way), [](Communicator& communicator) {
      for (std::uint64_t call = 1; call <= 6; ++call) {
        const Outcome outcome = checked(communicator, allreduce_shape(700001), call, call % 2 == 0 ? Side::in_place : Side::apart);
        EXPECT_EQ(outcome.plan->calls_on_devices, call);
      }
    });
  }
}

TEST_F(DevicesOfNodes, stage_what_cannot_be_mapped) {
  for (const bool both : {false, true}) {
    virtual_world::world({0, 0, 0, 1, 1}, in_lanes(both ? kHalving : kWhole), [&](Communicator& communicator) {
      const bool odd = communicator.topology.rank % 2 != 0;
      const Kinds kinds{odd || both ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd && !both ? HOST_DEVICE_PLAIN : HOST_DEVICE_UNSHAREABLE};
      EXPECT_EQ(all_calls(communicator, kinds), kCalls);
    });
  }
}

// Memory of ours does not take a part, there is no memory to map, or no queue. Then processors do it.
TEST_F(DevicesOfNodes, go_another_way_where_they_cannot) {
  virtual_world::WorldOptions little = in_lanes();
  little.settings.device_scratch_bytes = 4096;
  virtual_world::world({0, 0, 1, 1}, little, [](Communicator& communicator) {
    (void)all_calls(communicator, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_UNSHAREABLE});
  });
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 1, 1}, in_lanes(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), 0U); });
  set({.refuse_queues = 1000});
  virtual_world::world({0, 0, 1, 1}, in_lanes(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), 0U); });
}

// One of two nodes goes by its processors. The messages are the same.
TEST_F(DevicesOfNodes, exchange_whole_shares_with_processors) {
  virtual_world::world({0, 0, 1, 1}, in_lanes(kWhole), [&](Communicator& communicator) {
    for (std::uint64_t call = 1; call <= 4; ++call) {
      const Shape shape = allreduce_shape(700001);
      if (communicator.topology.node() == 0) {
        EXPECT_EQ(checked(communicator, shape, call, Side::apart).plan->calls_on_devices, call);
        continue;
      }
      AllreduceCase one(communicator.topology, shape, call, Side::apart);
      EXPECT_TRUE(run_collective(communicator, shape, one.buffers()).status.ok());
      EXPECT_EQ(one.wrong(), "");
    }
  });
}

// Ranks of one node, or one rank alone, have their elements in host memory: their node goes by its processors, the others by their devices.
TEST_F(DevicesOfNodes, see_no_difference_in_other_nodes) {
  for (const bool whole_node : {true, false}) {
    virtual_world::world({0, 0, 1, 1, 2, 2}, in_lanes(), [&](Communicator& communicator) {
      const int rank = communicator.topology.rank;
      const bool on_host = whole_node ? rank / 2 == 1 : rank == 2;
      for (const std::size_t count : {1u, 257u, 20001u, 300001u}) {
        for (std::uint64_t call = 1; call <= 4; ++call) {
          const Shape shape = allreduce_shape(count);
          const Side side = call % 2 == 0 ? Side::in_place : Side::apart;
          if (!on_host) {
            const Outcome outcome = checked(communicator, shape, call, side);
            EXPECT_EQ(outcome.plan->calls_on_devices, rank / 2 == 1 ? 0 : call);
            continue;
          }
          AllreduceCase one(communicator.topology, shape, call, side);
          const Outcome outcome = run_collective(communicator, shape, one.buffers());
          EXPECT_TRUE(outcome.status.ok());
          EXPECT_EQ(outcome.plan->calls_on_devices, 0U);
          EXPECT_EQ(one.wrong(), "");
        }
      }
    });
  }
}

// Rows without a part on devices, and elements that no device knows, go through host memory.
TEST_F(DevicesOfNodes, leave_the_rest_to_processors) {
  virtual_world::world({0, 0, 1, 1}, forced_reduction("ring"), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), 0U); });
  virtual_world::world({0, 0, 1, 1}, in_lanes(), [](Communicator& communicator) {
    const Shape shape = allreduce_shape(101, {Operation::maximum, Element::long_double});
    DeviceRow send(shape.block_bytes, 0, HOST_DEVICE_PLAIN), recv(shape.block_bytes, 0, HOST_DEVICE_PLAIN);
    std::memset(send.touch(), 0, shape.block_bytes);
    DeviceBuffers buffers({send.data(), recv.data()}, shape.block_bytes);
    const Outcome outcome = run_collective(communicator, shape, buffers);
    EXPECT_TRUE(outcome.status.ok());
    EXPECT_EQ(outcome.plan->calls_on_devices, 0U);
  });
}

}  // namespace
}  // namespace crossrail::tests
