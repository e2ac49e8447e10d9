// These tests run alltoall on device memory on several nodes. Each node does its part on its devices where all of its ranks have their blocks there.

#include <atomic>
#include <span>

#include "device/device.h"
#include "selection/selection.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

const Nodes kWorlds[] = {{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 1}, {0, 0, 1, 1, 2, 2, 2}, {0, 0, 0, 0, 1, 2, 2, 2}};
constexpr std::size_t kBlocks[] = {1, 4, 13, 64, 1000, 4096, 70001};

virtual_world::WorldOptions pairwise() {
  virtual_world::WorldOptions options = mapped_at_once();
  options.settings.alltoall = "pairwise";
  return options;
}

class DevicesOfNodes : public testing::Test, protected WithHostDevice {
 protected:
  static constexpr std::uint64_t kCallsOfASize = 3;
  // Makes calls with fresh data. Returns how many of this rank's were done by its devices.
  static std::uint64_t calls_of(Communicator& communicator, std::span<const std::size_t> sizes, Kinds kinds = {}, bool in_place = false) {
    std::uint64_t on_devices = 0;
    for (const std::size_t bytes : sizes) {
      DeviceCase one(communicator, {Collective::alltoall, Memory::host, in_place, bytes}, kinds, bytes);
      for (std::uint64_t number = 1; number <= kCallsOfASize; ++number) {
        const Outcome outcome = one.call(number);
        if (!outcome.status.ok()) return 0;
        if (number == kCallsOfASize) on_devices += outcome.plan->calls_on_devices;
      }
    }
    return on_devices;
  }
  static std::uint64_t all_calls(Communicator& communicator, Kinds kinds = {}) { return calls_of(communicator, kBlocks, kinds); }
  static constexpr std::uint64_t kCalls = kCallsOfASize * std::size(kBlocks);
};

TEST_F(DevicesOfNodes, agree_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, pairwise(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), kCalls); });
  }
}

TEST_F(DevicesOfNodes, wait_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 1, 1}, pairwise(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), kCalls); });
}

// Blocks have several pieces, and some steps go by pieces though they stay in the node.
TEST_F(DevicesOfNodes, send_long_blocks_in_pieces) {
  constexpr std::size_t kLong[] = {(std::size_t{4} << 20) - 1, (std::size_t{9} << 20) + 5};
  virtual_world::world({0, 1, 1}, pairwise(), [&](Communicator& communicator) {
    EXPECT_EQ(calls_of(communicator, kLong), kCallsOfASize * std::size(kLong));
  });
}

// Peers cannot map the memory, the call is in place, or the device has no host memory. Then processors do it.
TEST_F(DevicesOfNodes, go_another_way_where_they_cannot) {
  virtual_world::world({0, 0, 1, 1}, pairwise(), [](Communicator& communicator) {
    EXPECT_EQ(all_calls(communicator, {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE}), 0U);
    EXPECT_EQ(all_calls(communicator, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_PLAIN}), kCalls) << "nobody maps what is sent";
    EXPECT_EQ(calls_of(communicator, kBlocks, {}, true), 0U);
  });
  set({.refuse_queues = 1000});
  virtual_world::world({0, 0, 1, 1}, pairwise(), [](Communicator& communicator) { EXPECT_EQ(all_calls(communicator), 0U); });
}

// A node whose ranks, or one of them, have their blocks in host memory goes by its processors. The others go by their devices.
TEST_F(DevicesOfNodes, see_no_difference_in_other_nodes) {
  virtual_world::world({0, 0, 1, 1, 2, 2}, pairwise(), [&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    for (const std::size_t bytes : kBlocks) {
      const Shape shape{Collective::alltoall, Memory::host, false, bytes};
      DeviceCase one(communicator, shape, {});
      for (std::uint64_t number = 1; number <= 4; ++number) {
        if (rank != 2) {
          EXPECT_EQ(one.call(number).plan->calls_on_devices, rank / 2 == 1 ? 0 : number);
          continue;
        }
        std::vector<std::byte> send(one.bytes()), recv(one.bytes());
        one.fill(number, send.data());
        EXPECT_TRUE(run_collective(communicator, shape, Buffers{send.data(), recv.data()}).status.ok());
        EXPECT_EQ(one.wrong(number, recv.data()), "");
      }
    }
  });
}

// Without a setting, rows of the table for device memory carry calls where the first call of a Shape had all sides there, and those for host memory
// elsewhere, whatever comes later.
TEST_F(DevicesOfNodes, are_asked_which_row_they_want) {
  virtual_world::WorldOptions options = mapped_at_once();
  ASSERT_TRUE(read_tuning("collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters\nalltoall,host,2,*,*,matrix_block,\n"
                          "alltoall,device,2,*,*,pairwise,\n", "rows", options.tuning).ok());
  virtual_world::world({0, 0, 1, 1}, options, [](Communicator& communicator) {
    const auto ran = [&](std::size_t bytes, bool on_devices) {
      DeviceCase one(communicator, {Collective::alltoall, Memory::host, false, bytes}, {});
      if (on_devices) return std::string(one.call(bytes).plan->algorithm);
      std::vector<std::byte> send(one.bytes()), recv(one.bytes());
      one.fill(bytes, send.data());
      return std::string(run_collective(communicator, {Collective::alltoall, Memory::host, false, bytes}, Buffers{send.data(), recv.data()}).plan->algorithm);
    };
    EXPECT_EQ(ran(100, true), "pairwise");
    EXPECT_EQ(ran(100, false), "pairwise");
    EXPECT_EQ(ran(200, communicator.topology.rank != 3), "matrix_block");
    EXPECT_EQ(ran(200, true), "matrix_block");
  });
}

// Messages go straight from device memory, where the MPI library says that it takes it. As many ranks on other nodes as there can be try it first.
class MessagesOfDevices : public DevicesOfNodes {
 protected:
  static constexpr std::size_t kSizes[] = {1, 1000, 70001};
  std::atomic<int> from_devices{0}, all{0};

  virtual_world::WorldOptions straight(std::uint64_t setting, bool takes = true) {
    virtual_world::WorldOptions options = pairwise();
    options.settings.device_messages = setting;
    if (takes) options.links.touchable = host_device_touchable;
    options.links.sending = [this](int, const void* data) {
      ++all;
      if (device::kind_of(*device::module(), data) != CROSSRAIL_MEMORY_HOST) ++from_devices;
    };
    return options;
  }
};

TEST_F(MessagesOfDevices, begin_and_end_there_where_the_library_takes_it) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, straight(2), [&](Communicator& communicator) {
      EXPECT_EQ(calls_of(communicator, kSizes), kCallsOfASize * std::size(kSizes));
      EXPECT_EQ(communicator.device_messages.from, 1U);
    });
  }
  EXPECT_GT(from_devices, all / 2);
}

// The bytes are the same, faster or not.
TEST_F(MessagesOfDevices, are_compared_once_with_those_of_the_host) {
  constexpr std::size_t kAll[] = {1, 1000, (std::size_t{4} << 20) + 5};
  virtual_world::world({0, 0, 1}, straight(1), [&](Communicator& communicator) {
    EXPECT_EQ(calls_of(communicator, kAll), kCallsOfASize * std::size(kAll));
    EXPECT_TRUE(communicator.device_messages.known);
  });
  EXPECT_GT(from_devices, 0);
}

TEST_F(MessagesOfDevices, begin_and_end_on_the_host_elsewhere) {
  for (const auto& options : {straight(0), straight(1, false), straight(2, false)}) {
    virtual_world::world({0, 0, 1, 1}, options, [&](Communicator& communicator) {
      EXPECT_EQ(calls_of(communicator, kSizes), kCallsOfASize * std::size(kSizes));
    });
  }
  EXPECT_EQ(from_devices, 0);
}

// The library says that it takes device memory and sends something else.
TEST_F(MessagesOfDevices, are_given_up_where_they_arrive_wrong) {
  virtual_world::WorldOptions options = straight(2);
  options.links.sending = [](int rank, const void* data) {
    if (rank == 1 && device::kind_of(*device::module(), data) != CROSSRAIL_MEMORY_HOST) *static_cast<char*>(host_device_touchable(data)) ^= 1;
  };
  virtual_world::world({0, 0, 1, 1}, options, [&](Communicator& communicator) {
    EXPECT_EQ(calls_of(communicator, kSizes), kCallsOfASize * std::size(kSizes));
    EXPECT_EQ(communicator.device_messages.from, SIZE_MAX);
  });
}

// There is no memory on some rank's device for the trial.
TEST_F(MessagesOfDevices, need_memory_on_every_device) {
  const auto options = straight(2);
  set({.most_bytes = std::size_t{1} << 20});
  virtual_world::world({0, 0, 1, 1}, options, [&](Communicator& communicator) {
    EXPECT_EQ(calls_of(communicator, std::span(kSizes).first(2)), kCallsOfASize * 2);
    EXPECT_EQ(communicator.device_messages.from, SIZE_MAX);
  });
  EXPECT_EQ(from_devices, 0);
}

}  // namespace
}  // namespace crossrail::tests
