// Every row for device memory against the definition of alltoall, on a device that is made of host
// memory (simulate/host_device.h), with ranks as threads.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/device.h"
#include "simulate/host_device.h"
#include "tests/collectives/alltoall_case.h"

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

// Device memory for one side of a call, between guard zones.
class DeviceRow {
 public:
  DeviceRow(std::size_t bytes, std::size_t shift, host_device_kind kind)
      : bytes_(bytes), begin_(128 + shift), memory_(static_cast<std::byte*>(host_device_alloc(bytes + begin_ + 128, kind))) {
    std::memset(host_device_touchable(memory_), 0xA5, begin_ + bytes + 128);
  }
  ~DeviceRow() { host_device_free(memory_); }
  DeviceRow(const DeviceRow&) = delete;
  DeviceRow& operator=(const DeviceRow&) = delete;
  std::byte* data() { return memory_ + begin_; }
  std::byte* touch() { return static_cast<std::byte*>(host_device_touchable(data())); }
  bool intact() {
    const std::byte* const all = static_cast<std::byte*>(host_device_touchable(memory_));
    bool right = true;
    for (std::size_t at = 0; at < begin_; ++at) right = right && all[at] == std::byte{0xA5};
    for (std::size_t at = 0; at < 128; ++at) right = right && all[begin_ + bytes_ + at] == std::byte{0xA5};
    return right;
  }

 private:
  std::size_t bytes_, begin_;
  std::byte* memory_;
};

struct Kinds {
  host_device_kind send = HOST_DEVICE_PLAIN, recv = HOST_DEVICE_PLAIN;
};

// Host memory, if `host` is; the engine is given what a program would pass.
class HostRows final : public Sides {
 public:
  HostRows(const Buffers& device, std::size_t bytes) : device_(device), bytes_(bytes), send_(bytes), recv_(bytes) {}
  Status open(Buffers& buffers) override {
    copy_block(send_.data(), host_device_touchable(device_.send), bytes_);
    buffers = {device_.send == device_.recv ? recv_.data() : send_.data(), recv_.data()};
    if (device_.send == device_.recv) recv_ = send_;
    return {};
  }
  Status close() override {
    copy_block(host_device_touchable(device_.recv), recv_.data(), bytes_);
    return {};
  }
  DeviceCall on_devices() override { return {{device_.send, bytes_, false}, {device_.recv, bytes_, false}}; }
  Buffers device_buffers() override { return device_; }

 private:
  Buffers device_;
  std::size_t bytes_;
  std::vector<std::byte> send_, recv_;
};

Outcome checked_call_on(Communicator& communicator, const Shape& shape, std::uint64_t call, Kinds kinds) {
  const int size = communicator.topology.size, rank = communicator.topology.rank;
  const std::size_t block = shape.block_bytes, bytes = block * static_cast<std::size_t>(size);
  DeviceRow send(bytes, call % 17, kinds.send), recv(bytes, call % 5, kinds.recv);
  std::byte* const from = shape.in_place ? recv.touch() : send.touch();
  std::memset(recv.touch(), 0xEE, bytes);
  for (int peer = 0; peer < size; ++peer) fill_block(from + static_cast<std::size_t>(peer) * block, block, call, rank, peer);
  HostRows sides({shape.in_place ? recv.data() : send.data(), recv.data()}, bytes);
  const Outcome outcome = run_collective(communicator, shape, sides);
  const std::string where = communicator.settings.alltoall + ", " + std::to_string(size) + " ranks, blocks of " + std::to_string(block) +
                            (shape.in_place ? " in place" : "") + ", call " + std::to_string(call);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok() || outcome.plan->native()) return outcome;
  std::memset(send.touch(), 0x11, bytes);
  std::vector<std::byte> expected(block);
  for (int peer = 0; peer < size; ++peer) {
    fill_block(expected.data(), block, call, peer, rank);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), recv.touch() + static_cast<std::size_t>(peer) * block))
        << "rank " << rank << " has a wrong block from " << peer << ": " << where << " by " << outcome.plan->algorithm;
  }
  EXPECT_TRUE(send.intact() && recv.intact()) << where;
  return outcome;
}

class EveryDeviceRow : public testing::TestWithParam<Algorithm> {
 protected:
  void SetUp() override {
    device::use_module(host_device_module());
    set({});
  }
  void TearDown() override {
    set({});
    device::use_module(nullptr);
  }
  static void set(const host_device_options& options) { host_device_set(&options); }
};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryDeviceRow,
                         testing::ValuesIn(catalogue(Collective::alltoall, Memory::device).begin(),
                                           catalogue(Collective::alltoall, Memory::device).end()),
                         [](const auto& row) { return std::string(row.param.name); });

simulate::WorldOptions forced(const Algorithm& row) {
  simulate::WorldOptions options;
  options.settings.alltoall = row.name;
  options.settings.resident_us = std::string(row.name) == "ipc_resident_push" ? 100 : 0;
  options.settings.memcpy_threshold = 10000;
  return options;
}

void all_sizes(const Algorithm& row, Communicator& communicator, Kinds kinds, bool carried) {
  std::uint64_t call = 0;
  for (const std::size_t bytes : kSizes) {
    for (const bool in_place : {false, true}) {
      const Shape shape = alltoall_shape(bytes, in_place);
      for (std::uint64_t again = 0; again < kRepetitions; ++again) {
        const Outcome outcome = checked_call_on(communicator, shape, ++call, kinds);
        if (!outcome.status.ok() || bytes == 0) continue;
        const Shape on_device{Collective::alltoall, Memory::device, in_place, bytes};
        if (!carried || !row.fits(communicator.topology, on_device)) continue;
        EXPECT_STREQ(outcome.plan->algorithm, row.name) << bytes << (in_place ? " in place" : "") << " call " << call;
      }
    }
  }
}

TEST_P(EveryDeviceRow, agrees_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    simulate::world(nodes, forced(GetParam()), [](Communicator& communicator) { all_sizes(GetParam(), communicator, {}, true); });
  }
}

TEST_P(EveryDeviceRow, waits_for_work_that_is_late) {
  set({.delay_us = 300});
  simulate::world({0, 0, 0, 0}, forced(GetParam()), [](Communicator& communicator) { all_sizes(GetParam(), communicator, {}, true); });
}

// Memory that cannot be shared, on some ranks and sides; little memory of ours, so that there are rounds.
TEST_P(EveryDeviceRow, stages_what_cannot_be_mapped) {
  simulate::WorldOptions options = forced(GetParam());
  for (const std::uint64_t scratch : {32768u, 1u << 24}) {
    options.settings.device_scratch_bytes = scratch;
    simulate::world({0, 0, 0, 0}, options, [](Communicator& communicator) {
      const bool odd = communicator.topology.rank % 2 != 0;
      const Kinds kinds{odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_PLAIN : HOST_DEVICE_MANAGED};
      all_sizes(GetParam(), communicator, kinds, false);
    });
  }
}

TEST_P(EveryDeviceRow, goes_another_way_where_mapping_fails) {
  set({.refuse_maps = 1});
  simulate::world({0, 0, 0}, forced(GetParam()), [](Communicator& communicator) { all_sizes(GetParam(), communicator, {}, false); });
  set({.refuse_all_maps = 1});
  simulate::world({0, 0, 0}, forced(GetParam()), [](Communicator& communicator) { all_sizes(GetParam(), communicator, {}, false); });
}

TEST_P(EveryDeviceRow, is_right_where_ranks_share_a_device) {
  set({.same_device = 1});
  simulate::world({0, 0, 0}, forced(GetParam()), [](Communicator& communicator) { all_sizes(GetParam(), communicator, {}, false); });
}

// Freed and allocated anew in every call: nothing stale, nothing that grows.
TEST_P(EveryDeviceRow, keeps_few_mappings) {
  static std::atomic<int> most{0};
  most = 0;
  simulate::world({0, 0, 0}, forced(GetParam()), [](Communicator& communicator) {
    for (std::uint64_t call = 1; call <= 300; ++call) {
      (void)checked_call_on(communicator, alltoall_shape(64 + call % 3 * 5000), call, {});
      if (communicator.topology.rank == 0) most = std::max(most.load(), host_device_pieces());
    }
  });
  EXPECT_LE(most.load(), 3 * (2 + 3) + 2 * 3 * DeviceLines::kSlots);
  EXPECT_EQ(host_device_pieces(), 0);
}

}  // namespace
}  // namespace crossrail::tests
