// These tests compare every row of allgatherv and reduce_scatter for device memory with the definitions, with ranks as threads.

#include "tests/collectives/device_case.h"
#include "tests/collectives/unequal_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCallsOfKind = 1;
#else
constexpr std::uint64_t kCallsOfKind = 4;
#endif
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};

// These are one rank's sides in device memory, and the host memory that they are staged through.
class UnequalOnDevice final : public UserBuffers {
 public:
  UnequalOnDevice(const Topology& topology, const UnequalCall& call, Kinds kinds)
      : call_(call), host_(topology, call), filled_(host_.buffers()), send_(host_.send_bytes(), call.call % 3 * 8, kinds.send),
        recv_(host_.recv_bytes(), call.call % 5 * 8, kinds.recv), places_(static_cast<std::size_t>(topology.size)) {
    copy_block(recv_.touch(), filled_.recv, host_.recv_bytes());
    if (!call.in_place()) copy_block(send_.touch(), filled_.send, host_.send_bytes());
  }
  const Shape& shape() const { return host_.layout().shape; }

  // A reduce_scatter in place has its result in memory of its own until the end, as the program's buffers have.
  Status open(Buffers& buffers, const Plan*) override {
    staged_recv_.assign(recv_.touch(), recv_.touch() + host_.recv_bytes());
    staged_send_.assign(send_.touch(), send_.touch() + host_.send_bytes());
    result_.resize(host_.layout().own);
    buffers = filled_;
    buffers.send = call_.in_place() ? staged_recv_.data() : staged_send_.data();
    buffers.recv = call_.gathers() || !call_.in_place() ? staged_recv_.data() : result_.data();
    return {};
  }
  Status close() override {
    if (!call_.gathers() && call_.in_place()) copy_block(staged_recv_.data(), result_.data(), result_.size());
    copy_block(recv_.touch(), staged_recv_.data(), staged_recv_.size());
    return {};
  }
  bool in_place() const override { return !call_.gathers() && call_.in_place(); }
  DeviceCall on_devices() override {
    DeviceCall call{side(send_.data(), host_.send_bytes()), side(recv_.data(), host_.recv_bytes())};
    if (call_.in_place()) call.send = call.recv;
    for (const Block& block : host_.layout().blocks) call.block_bytes = std::max(call.block_bytes, block.bytes);
    if (!call_.gathers()) return call;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      const Block &from = filled_.in[rank], &to = filled_.out[rank];
      places_[rank] = {static_cast<std::uint64_t>(from.offset), static_cast<std::uint64_t>(to.offset), from.bytes, to.bytes};
    }
    call.places = places_.data();
    return call;
  }
  Buffers device_buffers() override {
    Buffers buffers = filled_;
    buffers.send = call_.in_place() ? recv_.data() : send_.data();
    buffers.recv = recv_.data();
    return buffers;
  }

  std::string wrong() {
    if (!call_.in_place() && !same_bytes(filled_.send, send_.touch(), host_.send_bytes())) return "written into what was sent";
    std::memset(send_.touch(), 0x11, host_.send_bytes());
    copy_block(filled_.recv, recv_.touch(), host_.recv_bytes());
    return send_.intact() && recv_.intact() ? host_.wrong() : "written outside the buffers";
  }

 private:
  static DeviceSide side(const std::byte* at, std::size_t bytes) { return bytes == 0 ? DeviceSide{nullptr, 0, false, true} : DeviceSide{at, bytes}; }

  UnequalCall call_;
  UnequalCase host_;
  Buffers filled_;
  DeviceRow send_, recv_;
  std::vector<std::byte> staged_send_, staged_recv_, result_;
  std::vector<DevicePlace> places_;
};

Outcome checked(Communicator& communicator, const UnequalCall& call, Kinds kinds = {}) {
  UnequalOnDevice one(communicator.topology, call, kinds);
  const Outcome outcome = run_collective(communicator.slot(), one.shape(), one);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << call.text();
  if (!outcome.status.ok() || outcome.plan->native()) return outcome;
  EXPECT_EQ(one.wrong(), "") << call.text() << " by " << outcome.plan->algorithm;
  return outcome;
}

class EveryUnequalOnDevices : public testing::TestWithParam<Algorithm>, protected WithHostDevice {
 protected:
  static virtual_world::WorldOptions forced(const std::string& parameters = "") {
    virtual_world::WorldOptions options = mapped_at_once();
    (GetParam().collective == Collective::allgatherv ? options.settings.allgatherv : options.settings.reduce_scatter) = GetParam().name + parameters;
    return options;
  }
  // The row carries all calls of which some bytes move on every rank's device. With `rounds` it does not carry those in place for which there is no
  // room.
  enum class Room : std::uint8_t { enough, little };
  static void all_calls(Communicator& communicator, Kinds kinds, Room room = Room::enough) {
    std::uint64_t call = 0;
    for (const Counts counts : kCounts) {
      for (std::uint64_t again = 0; again < kCallsOfKind; ++again) {
        ++call;
        for (const Side side : {Side::apart, Side::in_place}) {
          const UnequalCall one{GetParam().collective, counts, call, side};
          const Outcome outcome = checked(communicator, one, kinds);
          const bool may_lack_room = room == Room::little && side == Side::in_place;
          if (!outcome.status.ok() || counts == Counts::empty || may_lack_room || UnequalLayout(communicator.topology, one).shape.block_bytes == 0) continue;
          EXPECT_STREQ(outcome.plan->algorithm, GetParam().name) << one.text();
        }
      }
    }
  }
};

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : kUnequalCollectives) {
    const auto of_one = catalogue(one, Memory::device);
    rows.insert(rows.end(), of_one.begin(), of_one.end());
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(unequal, EveryUnequalOnDevices, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

TEST_P(EveryUnequalOnDevices, agrees_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
  }
}

TEST_P(EveryUnequalOnDevices, waits_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 0}, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
}

TEST_P(EveryUnequalOnDevices, is_right_where_ranks_share_a_device) {
  on_shared_devices(forced(), [](Communicator& communicator, Kinds kinds) { all_calls(communicator, kinds, Room::little); });
}

// Both engines do it.
TEST_P(EveryUnequalOnDevices, obeys_its_parameters) {
  if (GetParam().parameters.empty()) return;
  for (const char* parameters : {" memcpy_threshold=1", " memcpy_threshold=1G"}) {
    virtual_world::world({0, 0, 0}, forced(parameters), [](Communicator& communicator) { all_calls(communicator, {}); });
  }
}

// Some ranks and sides have memory that cannot be shared, and there is little memory of ours, so that there are rounds.
TEST_P(EveryUnequalOnDevices, stages_what_cannot_be_mapped) {
  for (const std::uint64_t bytes : {4096u, 32768u, 1u << 24}) {
    virtual_world::WorldOptions options = forced();
    options.settings.device_scratch_bytes = bytes;
    for (const bool both : {false, true}) {
      virtual_world::world({0, 0, 0, 0}, options, [&](Communicator& communicator) {
        const bool odd = communicator.topology.rank % 2 != 0;
        const Kinds kinds{odd || both ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd && !both ? HOST_DEVICE_PLAIN : HOST_DEVICE_UNSHAREABLE};
        all_calls(communicator, kinds, Room::little);
      });
    }
  }
}

TEST_P(EveryUnequalOnDevices, goes_another_way_where_nothing_can_be_mapped) {
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 0}, forced(), [](Communicator& communicator) {
    std::uint64_t call = 0;
    for (const Counts counts : kCounts) EXPECT_STRNE(checked(communicator, {GetParam().collective, counts, ++call}).plan->algorithm, GetParam().name);
  });
}

// On several nodes they go through host memory.
TEST_P(EveryUnequalOnDevices, is_right_on_several_nodes) {
  virtual_world::world({0, 0, 1, 1, 1}, mapped_at_once(), [](Communicator& communicator) {
    std::uint64_t call = 0;
    for (const Counts counts : kCounts) {
      for (const Side side : {Side::apart, Side::in_place}) {
        const Outcome outcome = checked(communicator, {GetParam().collective, counts, ++call, side});
        EXPECT_STREQ(outcome.plan->algorithm, "multi_lane");
      }
    }
  });
}

}  // namespace
}  // namespace crossrail::tests
