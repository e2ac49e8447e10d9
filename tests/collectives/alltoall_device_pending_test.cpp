// Rows for device memory are in calls that are pending beside others, suspended before every wait, with blocking ones in between.

#include <memory>
#include <vector>

#include "tests/collectives/device_case.h"
#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 7, 100, 4099, 16385};

struct PendingOnDevice : PendingCall {
  PendingOnDevice(Slot& its_slot, const Shape& its_shape, std::uint64_t number, Kinds kinds)
      : memory(its_slot.owner, its_shape, kinds, number), call(number) {
    slot = &its_slot;
    shape = its_shape;
    user = &memory.buffers();
    ended = [](PendingCall&) {};
    std::memset(memory.recv().touch(), 0xEE, memory.bytes());
    memory.fill(number, its_shape.in_place ? memory.recv().touch() : memory.send().touch());
  }
  DeviceCase memory;
  std::uint64_t call;
};

class PendingDeviceRow : public testing::TestWithParam<Algorithm>, protected WithHostDevice {};

INSTANTIATE_TEST_SUITE_P(alltoall, PendingDeviceRow, testing::ValuesIn(device_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

void run_many(PendingRank& mine) {
  const bool odd = mine.communicator.topology.rank % 2 != 0;
  std::vector<std::unique_ptr<PendingOnDevice>> calls;
  for (std::uint64_t call = 1; call <= 24; ++call) {
    const Kinds kinds{odd && call % 5 == 0 ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, HOST_DEVICE_PLAIN};
    const Shape shape = alltoall_shape(kSizes[call % std::size(kSizes)], call % 3 == 0);
    calls.push_back(std::make_unique<PendingOnDevice>(*mine.communicator.next_pending_slot(), shape, call, kinds));
    mine.calls.start(*calls.back());
    if (call % 6 == 0) (void)DeviceCase(mine.communicator, alltoall_shape(100), {}).call(call);
  }
  advance_all(mine.calls);
  Code worst = Code::ok;  // A rank that ends is lost for those whose own device is late.
  EXPECT_TRUE(mine.communicator.slot().links->agree(Code::ok, worst).ok());
  for (const auto& one : calls) {
    EXPECT_EQ(one->code, Code::ok) << one->what;
    EXPECT_EQ(one->memory.wrong(one->call, one->memory.recv().touch()), "") << one->memory.text(one->call);
  }
}

TEST_P(PendingDeviceRow, is_right_while_others_are_pending) {
  for (const unsigned delay_us : {0u, 200u}) {
    set({.delay_us = delay_us});
    virtual_world::WorldOptions options;
    options.settings.alltoall = GetParam().name;
    options.settings.resident_us = std::string(GetParam().name) == "ipc_resident_push" ? 100 : 0;
    options.suspend_seed = 5;
    pending_world({0, 0, 0}, options, run_many);
  }
}

}  // namespace
}  // namespace crossrail::tests
