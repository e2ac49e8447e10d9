// PeerMappings by itself, on a device that is made of host memory.

#include "device_sharing/peer_mappings.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "device_sharing/device_sharing.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

class Mappings : public testing::Test, protected WithHostDevice {};

// What all ranks have mapped of an owner is the same, though one of them is late: the owner may have begun its next call by then,
// before which the program freed memory of this one.
TEST_F(Mappings, late_ranks_keep_what_the_call_has) {
  DeviceLines* const lines = static_cast<DeviceLines*>(std::calloc(2, sizeof(DeviceLines)));
  std::vector<DeviceDescriptor> said(2);
  std::atomic<int> ahead{0};
  virtual_world::world({0, 0}, mapped_at_once(), [&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    ControlBlock& control = *communicator.slot().control;
    DeviceSharing& devices = *communicator.slot().devices;
    DeviceCase one(communicator, alltoall_shape(100), {});
    bool on_devices = false;
    control.begin_call(1, 1);
    ASSERT_TRUE(devices.look_for_modules(DeviceSharing::When::now).ok());
    ASSERT_TRUE(devices.exchange_descriptors(one.buffers().on_devices(), MappedSide::none, on_devices).ok());  // opens a queue
    PeerMappings mappings(lines, control, {0, SIZE_MAX});
    lines[rank].identity = 1;
    const auto allocated = [](std::size_t bytes) {
      crossrail_memory facts{};
      void* const memory = host_device_alloc(bytes, HOST_DEVICE_PLAIN);
      device::module()->describe(memory, bytes, &facts);
      return facts;
    };
    const auto call_with = [&](const crossrail_memory& memory) {
      mappings.begin_call();
      const ExportedSide side = mappings.export_side(memory, memory.base);
      said[static_cast<std::size_t>(rank)] = {{Residency::empty}, side, 0, 0, mappings.withdrawn()};
      EXPECT_TRUE(control.barrier().ok());
    };
    const auto withdraw = [&](const crossrail_memory& memory) {
      const std::uint64_t before = mappings.withdrawn();
      host_device_free(memory.base);
      while (mappings.withdrawn() == before) mappings.begin_call();
    };
    const crossrail_memory first = allocated(1000), second = allocated(2000);
    for (const crossrail_memory& memory : {first, second}) {
      call_with(memory);
      ASSERT_TRUE(mappings.map(MappedSide::recv, said, devices.queue().handle()).ok());
      EXPECT_TRUE(control.barrier().ok());
    }
    if (rank == 0) withdraw(first);
    call_with(second);
    const DeviceDescriptors all = said;
    EXPECT_TRUE(control.barrier().ok());
    if (rank == 0) {
      mappings.drop_withdrawn(all);
      withdraw(second);
      ahead = 1;
    }
    while (ahead == 0) std::this_thread::yield();
    if (rank == 1) {
      mappings.drop_withdrawn(all);
      EXPECT_NE(mappings.at(0, all[0].recv), nullptr) << "of this call, whatever the owner does by now";
      host_device_free(first.base);
      host_device_free(second.base);
    }
    EXPECT_TRUE(control.barrier().ok());
    said[static_cast<std::size_t>(rank)] = {{Residency::empty}, {Residency::empty}, 0, 0, mappings.withdrawn()};
    EXPECT_TRUE(control.barrier().ok());
    mappings.drop_withdrawn(said);
    if (rank == 1) {
      EXPECT_EQ(mappings.at(0, all[0].recv), nullptr) << "once all know that it is over";
    }
    EXPECT_TRUE(control.barrier().ok());
  });
  std::free(lines);
}

}  // namespace
}  // namespace crossrail::tests
