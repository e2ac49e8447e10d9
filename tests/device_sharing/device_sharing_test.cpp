// These tests check the parts of DeviceSharing by themselves, on a device that is made of host memory.

#include <atomic>

#include "device_sharing/device_sharing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/fiber.h"
#include "base/trace.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

class Sharing : public testing::Test, protected WithHostDevice {
 protected:
  // All ranks exchange descriptors of memory like this, as a call does first.
  static bool begin(Communicator& communicator, DeviceCase& one, MappedSide wanted) {
    DeviceSharing& devices = *communicator.slot().devices;
    communicator.slot().control->begin_call(1, 1);
    EXPECT_TRUE(devices.look_for_modules().ok());
    DeviceCall call = one.buffers().on_devices();
    call.block_bytes = one.bytes() / static_cast<std::size_t>(communicator.topology.size);
    bool on_devices = false;
    EXPECT_TRUE(devices.exchange_descriptors(call, wanted, on_devices).ok());
    return on_devices;
  }
};

// Returns where this rank's blocks go, in the receive buffers of all.
std::vector<crossrail_block> pushes(Communicator& communicator, DeviceCase& one, std::size_t block) {
  const Topology& topology = communicator.topology;
  std::vector<crossrail_block> blocks;
  for (int peer = 0; peer < topology.size; ++peer) {
    const auto own = static_cast<std::size_t>(topology.rank);
    std::byte* const there = peer == topology.rank ? one.recv().data() + own * block
                                                   : communicator.slot().devices->block({peer, MappedSide::recv, own, own * block});
    blocks.push_back({there, one.send().data() + static_cast<std::size_t>(peer) * block, block});
  }
  return blocks;
}

// Work begins and ends apart. What is behind an exchange may be finished before it is looked at.
TEST_F(Sharing, work_begins_and_ends_apart) {
  set({.delay_us = 2000});
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    constexpr std::size_t kBlock = 1000;
    DeviceSharing& devices = *communicator.slot().devices;
    DeviceCase one(communicator, alltoall_shape(kBlock), {});
    ASSERT_TRUE(begin(communicator, one, MappedSide::recv));
    ASSERT_TRUE(devices.map_peers(MappedSide::recv).ok());
    DeviceWork exchange, first, second;
    one.fill(5, one.send().touch());
    std::vector<std::byte> copy(one.bytes());
    ASSERT_TRUE(devices.queue().begin_copies({{copy.data(), one.send().data(), one.bytes()}}, first).ok());
    ASSERT_TRUE(devices.queue().begin_exchange(pushes(communicator, one, kBlock), CROSSRAIL_ENGINE_KERNEL, exchange).ok());
    ASSERT_TRUE(devices.queue().begin_copies({}, second).ok());
    EXPECT_TRUE(devices.queue().finish(second).ok());
    EXPECT_TRUE(devices.queue().done(first) && devices.queue().done(second));
    EXPECT_TRUE(devices.queue().finish(first).ok()) << "though later work has ended";
    EXPECT_EQ(std::memcmp(copy.data(), one.send().touch(), copy.size()), 0);
    while (!devices.queue().done(exchange)) communicator.slot().links->progress();
    EXPECT_TRUE(devices.queue().finish(exchange).ok());
    EXPECT_EQ(one.wrong(5, one.recv().touch()), "");
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

// A trace (base/trace.h) has this of a device: what was asked for, and what was done there.
struct TracedEvent {
  std::uint64_t number;
  std::int64_t began_ns, ended_ns;
  std::uint64_t bytes, of;
  std::uint16_t name, algorithm, native_because, kind;
  std::uint64_t unused[2];
};
static_assert(sizeof(TracedEvent) == 64);
struct TracedWork {
  std::vector<TracedEvent> asked, done;
};
TracedWork traced_work(const std::string& folder) {
  constexpr std::size_t kHead = 4096 + 256 * 96;
  TracedWork found;
  for (const auto& one : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(one.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = kHead; at + sizeof(TracedEvent) <= text.size(); at += sizeof(TracedEvent)) {
      TracedEvent event;
      std::memcpy(&event, &text[at], sizeof event);
      if (event.kind == static_cast<std::uint16_t>(trace::Kind::device)) found.asked.push_back(event);
      if (event.kind == static_cast<std::uint16_t>(trace::Kind::on_device)) found.done.push_back(event);
    }
  }
  std::filesystem::remove_all(folder);
  return found;
}

// The persistent kernel's times are not known.
TEST_F(Sharing, work_is_traced_to_its_end_though_nobody_waits_for_copies_with_when_the_device_did_it) {
  char folder[] = "/tmp/crossrail_trace_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  trace::open(folder, 1000);
  ASSERT_TRUE(trace::on());
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    constexpr std::size_t kBlock = 1000;
    DeviceSharing& devices = *communicator.slot().devices;
    DeviceCase one(communicator, alltoall_shape(kBlock), {});
    ASSERT_TRUE(begin(communicator, one, MappedSide::recv));
    ASSERT_TRUE(devices.map_peers(MappedSide::recv).ok());
    DeviceWork copies, exchange;
    std::vector<std::byte> copy(one.bytes());
    ASSERT_TRUE(devices.queue().begin_copies({{copy.data(), one.send().data(), one.bytes()}}, copies).ok());
    for (const crossrail_engine engine : {CROSSRAIL_ENGINE_KERNEL, CROSSRAIL_ENGINE_PERSISTENT}) {
      ASSERT_TRUE(devices.queue().begin_exchange(pushes(communicator, one, kBlock), engine, exchange).ok());
      EXPECT_TRUE(devices.queue().finish(exchange).ok());
    }
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
  trace::is_on = false;  // The other tests' work is not in it.
  const TracedWork found = traced_work(folder);
  EXPECT_EQ(found.asked.size(), 9u);  // They are of three ranks.
  for (const TracedEvent& asked : found.asked) EXPECT_TRUE(asked.bytes == 3000 && asked.ended_ns >= asked.began_ns);
  EXPECT_EQ(found.done.size(), 6u);
  for (const TracedEvent& done : found.done) {
    const auto asked = std::find_if(found.asked.begin(), found.asked.end(), [&](const TracedEvent& one) { return one.number == done.of; });
    ASSERT_NE(asked, found.asked.end());
    EXPECT_EQ(done.name, asked->name);
    EXPECT_EQ(done.bytes, 3000u);
    EXPECT_GE(done.began_ns, asked->began_ns);
    EXPECT_LE(done.began_ns, asked->ended_ns);
    EXPECT_GE(done.ended_ns, done.began_ns);
  }
}

struct Job {
  Communicator* communicator;
  DeviceCase* one;
  Outcome outcome;
};

// A call on a fiber gives way wherever it waits for a device.
TEST_F(Sharing, waits_suspend_a_fiber) {
  set({.delay_us = 2000});
  virtual_world::WorldOptions options;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    const Shape shape = alltoall_shape(5000);
    DeviceCase one(communicator, shape, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_UNSHAREABLE});
    Job job{&communicator, &one, {}};
    Fiber fiber;
    ASSERT_TRUE(fiber.usable());
    communicator.slot().run_on(&fiber);
    for (int again = 0; again < 5; ++again) {
      fiber.start([](void* given) {
        Job& its = *static_cast<Job*>(given);
        its.outcome = its.one->call(7);
      }, &job);
      int resumed = 0;
      for (; !fiber.finished(); ++resumed) fiber.resume();
      EXPECT_GT(resumed, 0);
      EXPECT_STREQ(job.outcome.plan->algorithm, "ipc_kernel_push");
    }
    communicator.slot().run_on(nullptr);
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

TEST_F(Sharing, descriptors_say_where_all_sides_lie) {
  virtual_world::world({0, 0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    const bool odd = communicator.topology.rank == 3;
    DeviceCase one(communicator, alltoall_shape(3000), {HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_MANAGED : HOST_DEVICE_PLAIN});
    const DeviceSharing& devices = *communicator.slot().devices;
    EXPECT_TRUE(begin(communicator, one, MappedSide::recv));
    EXPECT_EQ(devices.staged(MappedSide::recv), odd);
    EXPECT_TRUE(devices.any_staged(MappedSide::recv));
    EXPECT_FALSE(devices.any_staged(MappedSide::send));
    EXPECT_EQ(devices.chunk(), 3000u);
    EXPECT_TRUE(begin(communicator, one, MappedSide::send));
    EXPECT_FALSE(devices.any_staged(MappedSide::recv)) << "nobody wants to map it";
    one.buffers().gaps = odd;
    EXPECT_TRUE(begin(communicator, one, MappedSide::none));
    EXPECT_EQ(devices.staged(MappedSide::send), odd);
    EXPECT_TRUE(devices.any_staged(MappedSide::send));
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

// One rank of each device launches for all that share it. Every rank does so where that is switched off.
TEST_F(Sharing, one_rank_of_a_device_launches) {
  constexpr int kRanks = 7;
  for (const int devices : {0, 1, 2, 3}) {
    for (const bool one : {true, false}) {
      set({.devices = devices});
      virtual_world::WorldOptions options = mapped_at_once();
      options.settings.one_launcher = one ? 1 : 0;
      std::atomic<int> launchers{0}, launched{0};
      virtual_world::world(Nodes(kRanks, 0), options, [&](Communicator& communicator) {
        DeviceCase mine(communicator, alltoall_shape(3000), {});
        ASSERT_TRUE(begin(communicator, mine, MappedSide::both));
        DeviceQueue& queue = communicator.slot().devices->queue();
        launchers += queue.launched().empty() ? 0 : 1;
        launched += static_cast<int>(queue.launched().size());
        EXPECT_EQ(queue.launches_for_others(), devices != 0 && one);
        EXPECT_TRUE(communicator.slot().control->barrier().ok());
      });
      EXPECT_EQ(launched.load(), kRanks);
      const bool all = devices == 0 || !one;
      EXPECT_LE(launchers.load(), all ? kRanks : devices);
      EXPECT_GE(launchers.load(), all ? kRanks : 1);
    }
  }
}

// The rank with the least room decides how large a round is.
TEST_F(Sharing, little_staging_makes_small_rounds) {
  virtual_world::WorldOptions options;
  options.settings.device_scratch_bytes = 3 * 1024;
  options.settings.device_staged_uses = 0;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    const bool odd = communicator.topology.rank == 1;
    DeviceCase one(communicator, alltoall_shape(5000), {HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN});
    EXPECT_TRUE(begin(communicator, one, MappedSide::recv));
    EXPECT_EQ(communicator.slot().devices->chunk(), 1024u);
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

TEST_F(Sharing, a_rank_without_device_memory_is_seen_by_all) {
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(100), {});
    PlainBuffers host({});
    DeviceSharing& devices = *communicator.slot().devices;
    communicator.slot().control->begin_call(1, 1);
    EXPECT_TRUE(devices.look_for_modules().ok());
    bool on_devices = true;
    UserBuffers& mine = communicator.topology.rank == 2 ? static_cast<UserBuffers&>(host) : one.buffers();
    EXPECT_TRUE(devices.exchange_descriptors(mine.on_devices(), MappedSide::recv, on_devices).ok());
    EXPECT_FALSE(on_devices);
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

}  // namespace
}  // namespace crossrail::tests
