// These tests compare every row for device memory with the definition of alltoall, with ranks as threads.

#include <atomic>
#include <mutex>

#include "base/settings.h"
#include "selection/selection.h"
#include "tests/collectives/device_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRepetitions = 1;
constexpr std::size_t kSizes[] = {0, 7, 4099, 16385};
#else
constexpr std::uint64_t kRepetitions = 3;
constexpr std::size_t kSizes[] = {0, 1, 7, 16, 100, 4096, 4099, 16385, 70000};
#endif
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};

class EveryDeviceRow : public testing::TestWithParam<Algorithm>, protected WithHostDevice {
 protected:
  static bool is(const char* name) { return std::string(GetParam().name) == name; }
};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryDeviceRow, testing::ValuesIn(device_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

// Returns the plan with which a call on device memory would be carried, or null where there is none yet.
const Plan* device_plan(Communicator& communicator, const Shape& shape) {
  return communicator.slot().plans.find(device_shape(shape.block_bytes, shape.in_place));
}

bool staged(Communicator& communicator, MappedSide side) { return communicator.slot().devices->staged(side); }

// Runs calls of all sizes with fresh memory each. `check` sees each of them that has bytes.
template <class Check>
void all_sizes(Communicator& communicator, Kinds kinds, Check check) {
  std::uint64_t call = 0;
  for (const std::size_t bytes : kSizes) {
    for (const bool in_place : {false, true}) {
      const Shape shape = alltoall_shape(bytes, in_place);
      for (std::uint64_t again = 0; again < kRepetitions; ++again) {
        DeviceCase one(communicator, shape, kinds, ++call);
        const Outcome outcome = one.call(call);
        SCOPED_TRACE(one.text(call));
        if (outcome.status.ok() && bytes > 0) check(shape, *outcome.plan);
      }
    }
  }
}

// The row carries every call of a Shape that it is for.
void all_carried(Communicator& communicator, Kinds kinds) {
  all_sizes(communicator, kinds, [&](const Shape& shape, const Plan& plan) {
    const Algorithm& row = EveryDeviceRow::GetParam();
    const bool fits = row.fits(communicator.topology, device_shape(shape.block_bytes, shape.in_place));
    EXPECT_EQ(std::string(plan.algorithm) == row.name, fits) << plan.algorithm;
  });
}

TEST_P(EveryDeviceRow, agrees_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, forced_on_devices(GetParam()), [](Communicator& communicator) { all_carried(communicator, {}); });
  }
}

TEST_P(EveryDeviceRow, waits_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) { all_carried(communicator, {}); });
}

// Some ranks and sides have memory that cannot be shared, and there is little memory of ours, so that there are rounds.
TEST_P(EveryDeviceRow, stages_what_cannot_be_mapped) {
  virtual_world::WorldOptions options = forced_on_devices(GetParam());
  const auto calls = [](Communicator& communicator) {
    const bool odd = communicator.topology.rank % 2 != 0;
    const Kinds kinds{odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_PLAIN : HOST_DEVICE_MANAGED};
    all_sizes(communicator, kinds, [&](const Shape& shape, const Plan& plan) {
      if (!GetParam().fits(communicator.topology, device_shape(shape.block_bytes, shape.in_place))) return;
      EXPECT_STREQ(plan.algorithm, GetParam().name);
      const bool push = plan.mapped == MappedSide::recv, pull = plan.mapped == MappedSide::send;
      EXPECT_EQ(staged(communicator, MappedSide::send), shape.in_place || (pull && odd));
      EXPECT_EQ(staged(communicator, MappedSide::recv), push && !odd);
    });
  };
  for (const std::uint64_t bytes : {32768u, 1u << 24}) {
    options.settings.device_scratch_bytes = bytes;
    virtual_world::world({0, 0, 0, 0}, options, calls);
  }
}

// No peer can map what the program has. What is ours can be mapped.
TEST_P(EveryDeviceRow, goes_another_way_where_mapping_fails) {
  set({.refuse_maps = 1});
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    all_sizes(communicator, {}, [&](const Shape& shape, const Plan& plan) {
      const Plan* const tried = device_plan(communicator, shape);
      const bool ours = tried->mapped == MappedSide::none || (tried->mapped == MappedSide::send && shape.in_place);
      EXPECT_EQ(std::string(plan.algorithm) == GetParam().name, ours && tried->algorithm == plan.algorithm);
    });
  });
}

// The same memory comes again. It has been refused, and is staged from then on.
TEST_P(EveryDeviceRow, stages_what_peers_have_refused) {
  set({.refuse_maps = 1});
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    for (const std::size_t bytes : {100, 5000, 20000}) {
      const Shape shape = alltoall_shape(bytes);
      DeviceCase same(communicator, shape, {});
      for (std::uint64_t call = 1; call <= 4; ++call) {
        const Outcome outcome = same.call(call);
        const Plan* const tried = device_plan(communicator, shape);
        if (tried->native() || tried->mapped == MappedSide::none) continue;
        EXPECT_EQ(outcome.plan == tried, call > 1) << same.text(call);
        EXPECT_EQ(staged(communicator, tried->mapped), call > 1) << same.text(call);
      }
    }
  });
}

TEST_P(EveryDeviceRow, goes_through_host_memory_where_nothing_can_be_mapped) {
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    all_sizes(communicator, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_UNSHAREABLE}, [&](const Shape&, const Plan& plan) {
      EXPECT_STRNE(plan.algorithm, GetParam().name);
    });
    EXPECT_FALSE(communicator.slot().devices->active()) << "nothing is tried any more";
  });
}

TEST_P(EveryDeviceRow, is_right_where_ranks_share_a_device) {
  on_shared_devices(forced_on_devices(GetParam()), [](Communicator& communicator, Kinds kinds) {
    all_sizes(communicator, kinds, [&](const Shape& shape, const Plan& plan) {
      if (is("packet") || is("ll128")) {
        EXPECT_STRNE(plan.algorithm, GetParam().name) << "its kernels wait for each other";
      } else if (GetParam().fits(communicator.topology, device_shape(shape.block_bytes, shape.in_place))) {
        EXPECT_STREQ(plan.algorithm, GetParam().name);
      }
      EXPECT_STRNE(plan.part, "packet");
    });
  });
}

// Rows for so many ranks a device hold for what the calls' buffers tell, not for what could be known before.
TEST(Devices, that_ranks_share_choose_the_row) {
  const WithHostDevice device;
  for (const bool same : {false, true}) {
    WithHostDevice::set({.devices = same ? 1 : 0});
    virtual_world::WorldOptions options;
    ASSERT_TRUE(read_tuning("collective,memory,nodes,ranks_per_node,ranks_per_device,up_to_bytes,algorithm\n"
                            "alltoall,device,*,*,1-2,*,ipc_copy_push\nalltoall,device,*,*,3,*,ipc_kernel_push\n",
                            "test", options.tuning).ok());
    world_that_ends_together({0, 0, 0}, options, [same](Communicator& communicator) {
      DeviceCase one(communicator, alltoall_shape(100), {});
      EXPECT_STREQ(one.call(1).plan->algorithm, same ? "ipc_kernel_push" : "ipc_copy_push");
      const std::vector<Group>& devices = communicator.slot().devices->queue().devices();
      ASSERT_EQ(devices.size(), same ? 1u : 3u);
      const Group& mine = devices[same ? 0 : static_cast<std::size_t>(communicator.topology.rank)];
      EXPECT_EQ(mine.size(), same ? 3 : 1);
      EXPECT_EQ(mine[mine.index()], communicator.topology.rank);
    });
  }
}

// Memory is freed and allocated anew in every call. Nothing is stale, and nothing grows.
TEST_P(EveryDeviceRow, keeps_few_mappings) {
  static std::atomic<int> most{0};
  most = 0;
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    for (std::uint64_t call = 1; call <= 300; ++call) {
      DeviceCase one(communicator, alltoall_shape(64 + call % 3 * 5000), {}, call);
      (void)one.call(call);
      if (communicator.topology.rank == 0) most = std::max(most.load(), host_device_pieces());
    }
  });
  EXPECT_LE(most.load(), 3 * (2 + 3) + 2 * 3 * 256);
  EXPECT_EQ(host_device_pieces(), 0);
}

// The same memory in turn is mapped once, whatever the size of the blocks.
TEST_P(EveryDeviceRow, maps_memory_once) {
  static std::atomic<int> before{0};
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    const Shape small = alltoall_shape(500), large = alltoall_shape(16385);
    std::vector<std::unique_ptr<DeviceCase>> cases;
    for (const Shape& shape : {small, large, small, large}) cases.push_back(std::make_unique<DeviceCase>(communicator, shape, Kinds{}));
    for (std::uint64_t call = 1; call <= 40; ++call) {
      (void)cases[call % cases.size()]->call(call);
      if (communicator.topology.rank == 0 && call == 8) before = host_device_maps();
    }
    const int now = communicator.topology.rank == 0 ? host_device_maps() : before.load();
    EXPECT_EQ(now, before.load());
  });
}

class Hybrid : public testing::Test, protected WithHostDevice {};

// Returns what hybrid chooses for blocks of this size, on all ranks.
std::string part_of(const virtual_world::WorldOptions& options, std::size_t bytes) {
  static std::mutex mutex;
  std::string chosen;
  virtual_world::world({0, 0, 0}, options, [&](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(bytes), {});
    const Outcome outcome = one.call(1);
    const std::lock_guard lock(mutex);
    const std::string part = outcome.plan->part;
    EXPECT_TRUE(chosen.empty() || chosen == part) << chosen << ", " << part;
    chosen = part;
  });
  return chosen;
}

TEST_F(Hybrid, chooses_by_the_thresholds) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = "hybrid ipc_threshold=4K memcpy_threshold=10000";
  EXPECT_EQ(part_of(options, 4095), "packet");
  EXPECT_EQ(part_of(options, 4096), "ipc_kernel_push");
  EXPECT_EQ(part_of(options, 9999), "ipc_kernel_push");
  EXPECT_EQ(part_of(options, 10000), "ipc_copy_push");
  options.settings.alltoall = "hybrid ipc_threshold=100 memcpy_threshold=5000";
  EXPECT_EQ(part_of(options, 99), "packet");
  EXPECT_EQ(part_of(options, 100), "ipc_kernel_push");
  EXPECT_EQ(part_of(options, 5000), "ipc_copy_push");
  options.settings.alltoall = "hybrid ipc_threshold=1M memcpy_threshold=5000";
  EXPECT_EQ(part_of(options, 16385), "ipc_copy_push") << "too large for packets";
  options.settings.resident_us = 50;
  const bool stays = find_algorithm(Collective::alltoall, "ipc_resident_push", Memory::device) != nullptr;  // It is there with CROSSRAIL_PAPER_ROWS.
  EXPECT_EQ(part_of(options, 99), stays ? "ipc_resident_push" : "packet");
  EXPECT_EQ(part_of(options, 65537), "ipc_copy_push");
}

// What the driver says is not lost on the way.
TEST_F(Hybrid, tells_why_memory_could_not_be_mapped) {
  set({.refuse_maps = 1});
  ASSERT_TRUE(change_process_setting("CROSSRAIL_LOG", "1"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(part_of(mapped_at_once(), 5000), "");
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(change_process_setting("CROSSRAIL_LOG", "0"));
  EXPECT_NE(said.find("goes through host memory: host module: mapping refused"), std::string::npos) << said;
}

}  // namespace
}  // namespace crossrail::tests
