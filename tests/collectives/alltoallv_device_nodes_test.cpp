// These tests run alltoallv on device memory on several nodes. Each node does its part on its devices where all of its ranks have their blocks there.

#include "selection/selection.h"
#include "tests/collectives/device_vector_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRepetitions = 2;
#else
constexpr int kRepetitions = 8;
#endif
const Nodes kWorlds[] = {{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 1}, {0, 0, 1, 1, 2, 2, 2}, {0, 0, 0, 0, 1, 2, 2, 2}};
constexpr Counts kWithBytes[] = {Counts::uniform, Counts::random};

virtual_world::WorldOptions pairwise(const char* algorithm = "pairwise") {
  virtual_world::WorldOptions options = mapped_at_once();
  options.settings.alltoallv = algorithm;
  return options;
}

class VectorsOnDevicesOfNodes : public testing::Test, protected WithHostDevice {
 protected:
  // Makes calls with fresh memory and data in each. Returns how many this rank's device has done.
  static std::uint64_t calls_of(Communicator& communicator, Kinds kinds = {}, bool in_place = false) {
    std::uint64_t call = 0, before = 0, on_devices = 0;
    for (const Counts counts : kWithBytes) {
      for (int again = 0; again < kRepetitions; ++again) {
        const Outcome outcome = DeviceVectorCase(communicator, {counts, ++call, in_place}, kinds).call();
        if (!outcome.status.ok()) return 0;
        if (call == 1) before = outcome.plan->calls_on_devices - (outcome.plan->calls_on_devices > 0 ? 1 : 0);
        on_devices = outcome.plan->calls_on_devices - before;
      }
    }
    return on_devices;
  }
  static constexpr std::uint64_t kCalls = kRepetitions * std::size(kWithBytes);
};

// A rank without any bytes does not know which device is meant, so its node goes by its processors.
TEST_F(VectorsOnDevicesOfNodes, agree_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, pairwise(), [](Communicator& communicator) {
      EXPECT_EQ(calls_of(communicator), kCalls);
      std::uint64_t call = 100;
      for (const Counts counts : kCounts) {
        for (int again = 0; again < kRepetitions; ++again) (void)DeviceVectorCase(communicator, {counts, ++call, again % 4 == 3}, {}).call();
      }
    });
  }
}

// The MPI library says that it takes device memory.
TEST_F(VectorsOnDevicesOfNodes, send_straight_from_their_memory) {
  virtual_world::WorldOptions options = pairwise();
  options.settings.device_messages = 2;
  options.links.touchable = host_device_touchable;
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, options, [](Communicator& communicator) {
      EXPECT_EQ(calls_of(communicator), kCalls);
      EXPECT_EQ(communicator.device_messages.from, 1U);
    });
  }
}

TEST_F(VectorsOnDevicesOfNodes, wait_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 1, 1}, pairwise(), [](Communicator& communicator) { EXPECT_EQ(calls_of(communicator), kCalls); });
}

TEST_F(VectorsOnDevicesOfNodes, in_place_or_unmappable_go_by_processors) {
  virtual_world::world({0, 0, 1, 1}, pairwise(), [](Communicator& communicator) {
    EXPECT_EQ(calls_of(communicator, {}, true), 0U);
    EXPECT_EQ(calls_of(communicator, {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE}), 0U);
    EXPECT_EQ(calls_of(communicator, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_PLAIN}), kCalls) << "nobody maps what is sent";
  });
}

// The second node is always in host memory. At times one rank of the first one is, too.
TEST_F(VectorsOnDevicesOfNodes, see_no_difference_in_other_nodes) {
  virtual_world::world({0, 0, 1, 1, 2, 2}, pairwise(), [](Communicator& communicator) {
    for (std::uint64_t call = 1; call <= 20; ++call) {
      const int rank = communicator.topology.rank;
      if (rank / 2 == 1 || (rank == 1 && call % 3 == 0)) EXPECT_TRUE(checked_vector_call(communicator, Counts::random, call));
      else (void)DeviceVectorCase(communicator, {Counts::random, call}, {}).call();
    }
  });
}

// Lengths differ much, from a byte to several pieces, so that ranks divide their steps in other portions than their partners.
std::size_t skewed_bytes(int from, int to, std::uint64_t call) {
  constexpr std::size_t kLengths[] = {0, 1, 64 * 1024, 64 * 1024 + 1, 200'001, 12, 20'000, 40'000, 7};
  return kLengths[(static_cast<std::size_t>(from) * 5 + static_cast<std::size_t>(to) * 3 + call) % std::size(kLengths)];
}

// Returns at least as much. In every other call some receivers expect more than comes.
std::size_t skewed_room(int from, int to, std::uint64_t call) {
  constexpr std::size_t kMore[] = {0, 1, 64 * 1024, 5, 130'000, 0};
  const std::size_t sent = skewed_bytes(from, to, call);
  const bool more = call % 2 == 0 && sent > 0 && from != to;
  return sent + (more ? kMore[(static_cast<std::size_t>(from) + 2 * static_cast<std::size_t>(to) + call / 2) % std::size(kMore)] : 0);
}

TEST_F(VectorsOnDevicesOfNodes, divide_long_blocks_and_put_short_ones_together) {
  for (const Nodes& nodes : {Nodes{0, 1, 1}, Nodes{0, 0, 1, 1, 2}, Nodes{0, 1, 2, 3, 4, 5, 6}, Nodes{0, 0, 0, 0, 1, 1, 1, 1}}) {
    virtual_world::world(nodes, pairwise("pairwise piece=64K"), [](Communicator& communicator) {
      const int rank = communicator.topology.rank, size = communicator.topology.size;
      for (std::uint64_t call = 1; call <= 18; ++call) {
        std::vector<Block> out(static_cast<std::size_t>(size)), in(out.size());
        std::size_t sends = 0, receives = 0;
        for (int peer = 0; peer < size; ++peer) {
          out[static_cast<std::size_t>(peer)] = {static_cast<std::ptrdiff_t>(sends), skewed_bytes(rank, peer, call)};
          in[static_cast<std::size_t>(peer)] = {static_cast<std::ptrdiff_t>(receives), skewed_room(peer, rank, call)};
          sends += out[static_cast<std::size_t>(peer)].bytes;
          receives += in[static_cast<std::size_t>(peer)].bytes;
        }
        DeviceRow send(sends, 0, HOST_DEVICE_PLAIN), recv(receives, call % 4, HOST_DEVICE_PLAIN);
        for (int peer = 0; peer < size; ++peer) {
          fill_block(send.touch() + out[static_cast<std::size_t>(peer)].offset, out[static_cast<std::size_t>(peer)].bytes, call, rank, peer);
        }
        std::memset(recv.touch(), 0xEE, receives);
        DeviceVectorBuffers buffers({send.data(), recv.data(), out.data(), in.data(), false}, sends, receives, size);
        const Outcome outcome = run_collective(communicator.slot(), kVectorShape, buffers);
        EXPECT_TRUE(outcome.status.ok()) << outcome.status.what;
        std::vector<std::byte> expected(receives, std::byte{0xEE});
        for (int peer = 0; peer < size; ++peer) {
          fill_block(expected.data() + in[static_cast<std::size_t>(peer)].offset, skewed_bytes(peer, rank, call), call, peer, rank);
        }
        EXPECT_TRUE(same_bytes(expected.data(), recv.touch(), expected.size())) << "rank " << rank << ", call " << call;
        EXPECT_TRUE(recv.intact() && send.intact());
        if (call == 18) {
          EXPECT_GT(outcome.plan->calls_on_devices, 0U);
        }
      }
    });
  }
}

TEST_F(VectorsOnDevicesOfNodes, end_with_an_error_where_more_is_sent_in_the_node) {
  virtual_world::world({0, 0, 1}, pairwise(), [](Communicator& communicator) {
    (void)DeviceVectorCase(communicator, {Counts::uniform, 5}, {}).call();
    DeviceVectorCase one(communicator, {Counts::uniform, 5}, {});
    if (communicator.topology.rank == 1) one.in[0].bytes -= 100;
    const Outcome outcome = run_collective(communicator.slot(), kVectorShape, one.buffers());
    EXPECT_FALSE(outcome.status.ok());
  });
}

TEST_F(VectorsOnDevicesOfNodes, get_the_row_of_devices) {
  virtual_world::WorldOptions options = mapped_at_once();
  virtual_world::world({0, 0, 1, 1}, options, [](Communicator& communicator) {
    communicator.devices = true;  // All ranks have agreed on it.
    EXPECT_STREQ(DeviceVectorCase(communicator, {Counts::uniform, 1}, {}).call().plan->algorithm, "pairwise");
  });
  virtual_world::world({0, 0, 1, 1}, options, [](Communicator& communicator) {
    communicator.devices = true;
    EXPECT_TRUE(checked_vector_call(communicator, Counts::uniform, 1));
    EXPECT_STREQ(DeviceVectorCase(communicator, {Counts::uniform, 1}, {}).call().plan->algorithm, "leader_pipelined") << "the first call decides";
  });
}

}  // namespace
}  // namespace crossrail::tests
