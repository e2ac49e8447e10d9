// These tests compare every row of gather, scatter and their v forms for device memory with their definitions, with ranks as threads.

#include "tests/collectives/device_case.h"
#include "tests/collectives/rooted_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kSizes[] = {0, 1, 300, 5000};
#else
constexpr std::size_t kSizes[] = {0, 1, 3, 8, 57, 300, 4096, 5001, 40'000};
#endif
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0}};

// These are one rank's sides in device memory, and the host memory that they are staged through.
class RootedOnDevice final : public UserBuffers {
 public:
  RootedOnDevice(const Topology& topology, const RootedCall& call, Kinds kinds)
      : call_(call), case_(topology, call), in_place_(call.side == Side::in_place && topology.rank == call.root && root_receives(call.collective) && !call.has_counts()),
        send_(case_.send.size(), call.number % 3 * 4, kinds.send), recv_(case_.recv.size(), call.number % 5 * 4, kinds.recv), places_(case_.in.size()) {
    copy_block(send_.touch(), case_.send.data(), case_.send.size());
    copy_block(recv_.touch(), case_.recv.data(), case_.recv.size());
  }
  Status open(Buffers& buffers, const Plan*) override {
    staged_send_.assign(send_.touch(), send_.touch() + case_.send.size());
    staged_recv_.assign(recv_.touch(), recv_.touch() + case_.recv.size());
    buffers = with_blocks(staged_send_.data(), staged_recv_.empty() ? nullptr : staged_recv_.data());
    return {};
  }
  Status close() override {
    copy_block(recv_.touch(), staged_recv_.data(), case_.recv.size());
    return {};
  }
  bool in_place() const override { return in_place_; }
  DeviceCall on_devices() override {
    const DeviceSide recv{recv_.data(), case_.recv.size(), false, case_.recv.empty()};
    DeviceCall call{in_place_ ? recv : DeviceSide{send_.data(), case_.send.size(), false, case_.send.empty()}, recv};
    if (!call_.has_counts()) return call;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      const Block &to = case_.out[rank], &from = case_.in[rank];
      places_[rank] = {static_cast<std::uint64_t>(from.offset), static_cast<std::uint64_t>(to.offset), from.bytes, to.bytes};
      call.block_bytes = std::max({call.block_bytes, from.bytes, to.bytes});
    }
    call.places = places_.data();
    return call;
  }
  Buffers device_buffers() override { return with_blocks(send_.data(), case_.recv.empty() ? nullptr : recv_.data()); }

  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    if (!same_bytes(case_.send.data(), send_.touch(), case_.send.size())) return "written into what was sent";
    std::memset(send_.touch(), 0x11, case_.send.size());
    return same_bytes(case_.expected.data(), recv_.touch(), case_.expected.size()) ? "" : "wrong bytes";
  }

 private:
  Buffers with_blocks(const std::byte* send, std::byte* recv) const {
    Buffers buffers{in_place_ ? recv : send, recv};
    if (call_.has_counts()) buffers.out = case_.out.data(), buffers.in = case_.in.data();
    return buffers;
  }

  RootedCall call_;
  RootedCase case_;
  bool in_place_;
  DeviceRow send_, recv_;
  std::vector<DevicePlace> places_;
  std::vector<std::byte> staged_send_, staged_recv_;
};

class EveryRootedOnDevices : public testing::TestWithParam<Algorithm>, protected WithHostDevice {
 protected:
  static virtual_world::WorldOptions forced(const std::string& parameters = "") {
    virtual_world::WorldOptions options = mapped_at_once();
    setting_of(options.settings, GetParam().collective) = GetParam().name + parameters;
    return options;
  }
  // Makes calls of all sizes. Each result must be right, and all calls but those of v forms must go by the algorithm under test.
  static void all_calls(Communicator& communicator, Kinds kinds) {
    std::uint64_t number = 0;
    const int ranks = communicator.topology.size;
    for (const std::size_t bytes : kSizes) {
      for (int again = 0; again < 6; ++again) {
        ++number;
        const RootedCall call{GetParam().collective, bytes, static_cast<int>(number / 3) % ranks, number, again % 3 == 1 ? Side::in_place : Side::apart};
        RootedOnDevice one(communicator.topology, call, kinds);
        const Outcome outcome = run_collective(communicator.slot(), call.shape(), one);
        const std::string where = text_of(call, communicator.topology);
        ASSERT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
        if (bytes == 0 || outcome.plan->native()) continue;
        EXPECT_EQ(one.wrong(), "") << where << " by " << outcome.plan->algorithm;
        EXPECT_TRUE(call.has_counts() || std::string_view(outcome.plan->algorithm) == GetParam().name) << where;
        carried += std::string_view(outcome.plan->algorithm) == GetParam().name;
      }
    }
  }
  static std::atomic<int> carried;
};
std::atomic<int> EveryRootedOnDevices::carried;

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : kRooted) {
    const auto of_one = catalogue(one, Memory::device);
    rows.insert(rows.end(), of_one.begin(), of_one.end());
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(rooted, EveryRootedOnDevices, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

TEST_P(EveryRootedOnDevices, agrees_with_the_definition) {
  carried = 0;
  for (const char* parameters : {"", " memcpy_threshold=100"}) {
    for (const Nodes& nodes : kWorlds) {
      virtual_world::world(nodes, forced(parameters), [](Communicator& communicator) { all_calls(communicator, {}); });
    }
  }
  EXPECT_GT(carried, 50);
}

// Memory that cannot be shared goes in rounds through memory of crossrail's.
TEST_P(EveryRootedOnDevices, stages_what_cannot_be_mapped) {
  virtual_world::WorldOptions options = forced();
  options.settings.device_scratch_bytes = 4096;
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, options, [](Communicator& communicator) { all_calls(communicator, partly_unshareable(communicator)); });
  }
}

TEST_P(EveryRootedOnDevices, shares_devices) { on_shared_devices(forced(), all_calls); }

}  // namespace
}  // namespace crossrail::tests
