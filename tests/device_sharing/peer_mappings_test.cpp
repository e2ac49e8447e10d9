// These tests check PeerMappings by itself, on a device that is made of host memory.

#include "device_sharing/peer_mappings.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "device_sharing/device_sharing.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

crossrail_memory allocated(std::size_t bytes) {
  crossrail_memory facts{};
  void* const memory = host_device_alloc(bytes, HOST_DEVICE_PLAIN);
  device::module()->describe(memory, bytes, &facts);
  return facts;
}

// There are two ranks, whose descriptors are exchanged in `said`.
class Mappings : public testing::Test, protected WithHostDevice {
 protected:
  void SetUp() override { memory_ = static_cast<std::byte*>(std::calloc(1, device_lines_bytes(2, kLeastExported))); }
  void TearDown() override { std::free(memory_); }

  struct Rank {
    Rank(Communicator& communicator, std::byte* memory)
        : number(communicator.topology.rank), control(*communicator.slot().control), mappings(DeviceRegion(memory, 2, kLeastExported), control, {0, SIZE_MAX}) {
      DeviceRegion(memory, 2, kLeastExported).lines[number].identity = 1;
    }
    int number;
    ControlBlock& control;
    PeerMappings mappings;
  };
  static void open_queue(Communicator& communicator) {
    DeviceSharing& devices = *communicator.slot().devices;
    DeviceCase one(communicator, alltoall_shape(100), {});
    bool on_devices = false;
    communicator.slot().control->begin_call(1, 1);
    ASSERT_TRUE(devices.look_for_modules().ok());
    ASSERT_TRUE(devices.exchange_descriptors(one.buffers().on_devices(), MappedSide::none, on_devices).ok());
  }
  DeviceDescriptors exchange(Rank& rank, const ExportedSide& side) {
    said_[static_cast<std::size_t>(rank.number)] = {{Residency::empty}, side, 0, 0, rank.mappings.withdrawn()};
    EXPECT_TRUE(rank.control.barrier().ok());
    DeviceDescriptors all = said_;
    EXPECT_TRUE(rank.control.barrier().ok());
    return all;
  }
  DeviceDescriptors call_with(Rank& rank, const crossrail_memory& memory) {
    rank.mappings.begin_call();
    return exchange(rank, rank.mappings.export_side(memory, memory.base));
  }
  static void free_and_notice(Rank& rank, const crossrail_memory& memory) {
    const std::uint64_t before = rank.mappings.withdrawn();
    host_device_free(memory.base);
    while (rank.mappings.withdrawn() == before) rank.mappings.begin_call();
  }

  std::byte* memory_ = nullptr;
  DeviceDescriptors said_{2};
};

// All ranks have mapped the same of an owner, though one of them is late: the owner may have begun its next call by then, before which the program
// freed memory of this one.
TEST_F(Mappings, late_ranks_keep_what_the_call_has) {
  std::atomic<int> ahead{0};
  virtual_world::world({0, 0}, mapped_at_once(), [&](Communicator& communicator) {
    open_queue(communicator);
    Rank rank(communicator, memory_);
    const crossrail_memory first = allocated(1000), second = allocated(2000);
    for (const crossrail_memory& memory : {first, second}) {
      const DeviceDescriptors all = call_with(rank, memory);
      ASSERT_TRUE(rank.mappings.map(MappedSide::recv, all, communicator.slot().devices->queue().opened()).ok());
    }
    if (rank.number == 0) free_and_notice(rank, first);
    const DeviceDescriptors all = call_with(rank, second);
    if (rank.number == 0) {
      rank.mappings.drop_withdrawn(all);
      free_and_notice(rank, second);
      ahead = 1;
    }
    while (ahead == 0) std::this_thread::yield();
    if (rank.number == 1) {
      rank.mappings.drop_withdrawn(all);
      EXPECT_NE(rank.mappings.at(0, all[0].recv), nullptr) << "of this call, whatever the owner does by now";
      host_device_free(first.base);
      host_device_free(second.base);
    }
    rank.mappings.drop_withdrawn(exchange(rank, {Residency::empty}));
    EXPECT_TRUE(rank.number == 0 || rank.mappings.at(0, all[0].recv) == nullptr) << "once all know that it is over";
    EXPECT_TRUE(rank.control.barrier().ok());
  });
}

}  // namespace
}  // namespace crossrail::tests
