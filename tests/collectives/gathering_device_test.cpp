// These tests compare every row of allgather and reduce_scatter_block for device memory with the definitions, with ranks as threads.

#include <deque>

#include "tests/collectives/device_case.h"
#include "tests/collectives/gathering_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kCounts[] = {0, 1, 5, 257, 4096};
#else
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 5, 13, 64, 257, 1023, 4096, 5000, 20'001};
#endif
constexpr Reduction kReductions[] = {{Operation::sum, Element::int32}, {Operation::sum, Element::float64}, {Operation::maximum, Element::int32}};
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};

// These are one rank's sides in device memory, of unequal lengths, and the host memory that they are staged through.
class OnDevice final : public UserBuffers {
 public:
  OnDevice(const Topology& topology, const Shape& shape, std::uint64_t call, Side side, Kinds kinds)
      : host_(topology, shape, call, side),
        in_place_(side == Side::in_place),
        send_bytes_(bytes_of_side(topology, shape, shape.collective == Collective::reduce_scatter_block)),
        recv_bytes_(bytes_of_side(topology, shape, in_place_ || shape.collective == Collective::allgather)),
        send_(send_bytes_, call % 3 * 4, kinds.send),
        recv_(recv_bytes_, call % 5 * 4, kinds.recv) {
    const Buffers filled = host_.buffers();
    copy_block(recv_.touch(), filled.recv, recv_bytes_);
    if (!in_place_) copy_block(send_.touch(), filled.send, send_bytes_);
  }
  Status open(Buffers& buffers, const Plan*) override {
    staged_recv_.assign(recv_.touch(), recv_.touch() + recv_bytes_);
    staged_send_.assign(send_.touch(), send_.touch() + send_bytes_);
    buffers = {in_place_ ? staged_recv_.data() : staged_send_.data(), staged_recv_.data()};
    return {};
  }
  Status close() override {
    copy_block(recv_.touch(), staged_recv_.data(), recv_bytes_);
    return {};
  }
  bool in_place() const override { return in_place_; }
  DeviceCall on_devices() override {
    const DeviceSide recv{recv_.data(), recv_bytes_, false};
    return {in_place_ ? recv : DeviceSide{send_.data(), send_bytes_, false}, recv};
  }
  Buffers device_buffers() override { return {in_place_ ? recv_.data() : send_.data(), recv_.data()}; }

  std::string wrong() {
    const Buffers host = host_.buffers();
    if (!in_place_ && !same_bytes(host.send, send_.touch(), send_bytes_)) return "written into what was sent";
    std::memset(send_.touch(), 0x11, send_bytes_);
    copy_block(host.recv, recv_.touch(), recv_bytes_);
    return send_.intact() && recv_.intact() ? host_.wrong() : "written outside the buffers";
  }

 private:
  static std::size_t bytes_of_side(const Topology& topology, const Shape& shape, bool row) {
    return shape.block_bytes * static_cast<std::size_t>(row ? topology.size : 1);
  }
  GatheringCase host_;
  bool in_place_;
  std::size_t send_bytes_, recv_bytes_;
  DeviceRow send_, recv_;
  std::vector<std::byte> staged_send_, staged_recv_;
};

Outcome checked(Communicator& communicator, const Shape& shape, std::uint64_t call, Side side, Kinds kinds = {}) {
  OnDevice one(communicator.topology, shape, call, side, kinds);
  const Outcome outcome = run_collective(communicator, shape, one);
  const std::string where = std::string(name_of(shape.collective)) + " of " + std::to_string(shape.block_bytes) + " bytes, call " + std::to_string(call) +
                            (side == Side::in_place ? " in place" : "");
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok() || outcome.plan->native()) return outcome;
  EXPECT_EQ(one.wrong(), "") << where << " by " << outcome.plan->algorithm;
  return outcome;
}

class EveryGatheringOnDevices : public testing::TestWithParam<Algorithm>, protected WithHostDevice {
 protected:
  static virtual_world::WorldOptions forced(const std::string& parameters = "") {
    virtual_world::WorldOptions options = mapped_at_once();
    std::string& setting = GetParam().collective == Collective::allgather ? options.settings.allgather : options.settings.reduce_scatter_block;
    setting = GetParam().name + parameters;
    return options;
  }
  static Shape shape_of(std::size_t count, std::uint64_t call) {
    const bool gathers = GetParam().collective == Collective::allgather;
    return gathers ? allgather_shape(count * 4 - (count > 0 ? call % 4 : 0)) : reduce_scatter_shape(count, kReductions[call % std::size(kReductions)]);
  }
  static void all_calls(Communicator& communicator, Kinds kinds) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      for (int again = 0; again < 4; ++again) {
        ++call;
        const Outcome outcome = checked(communicator, shape_of(count, call), call, again == 1 ? Side::in_place : Side::apart, kinds);
        if (!outcome.status.ok() || count == 0) continue;
        EXPECT_STREQ(outcome.plan->algorithm, GetParam().name) << count;
      }
    }
  }
};

std::vector<Algorithm> all_rows() {
  std::vector<Algorithm> rows;
  for (const Collective one : {Collective::allgather, Collective::reduce_scatter_block}) {
    const auto of_one = catalogue(one, Memory::device);
    rows.insert(rows.end(), of_one.begin(), of_one.end());
  }
  return rows;
}
// These are for calls in a stream's order alone.
std::vector<Algorithm> rows_for_calls() {
  std::vector<Algorithm> rows = all_rows();
  std::erase_if(rows, [](const Algorithm& row) { return std::string(row.name) == "ll128" || std::string(row.name) == "chunks"; });
  return rows;
}
constexpr auto name_of_row = [](const testing::TestParamInfo<Algorithm>& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; };
INSTANTIATE_TEST_SUITE_P(gathering, EveryGatheringOnDevices, testing::ValuesIn(rows_for_calls()), name_of_row);

class EveryGatheringOnStreams : public EveryGatheringOnDevices {};
INSTANTIATE_TEST_SUITE_P(gathering, EveryGatheringOnStreams, testing::ValuesIn(all_rows()), name_of_row);

TEST_P(EveryGatheringOnDevices, agrees_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
  }
}

TEST_P(EveryGatheringOnDevices, waits_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 0}, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
}

TEST_P(EveryGatheringOnDevices, is_right_where_ranks_share_a_device) {
  on_shared_devices(forced(), [](Communicator& communicator, Kinds kinds) { all_calls(communicator, kinds); });
}

// Both engines do it.
TEST_P(EveryGatheringOnDevices, obeys_its_parameters) {
  if (GetParam().parameters.empty()) return;
  for (const char* parameters : {" memcpy_threshold=1", " memcpy_threshold=1G"}) {
    virtual_world::world({0, 0, 0}, forced(parameters), [](Communicator& communicator) { all_calls(communicator, {}); });
  }
}

// Some ranks and sides have memory that cannot be shared, and there is little memory of ours, so that there are rounds.
TEST_P(EveryGatheringOnDevices, stages_what_cannot_be_mapped) {
  for (const std::uint64_t bytes : {4096u, 32768u, 1u << 24}) {
    virtual_world::WorldOptions options = forced();
    options.settings.device_scratch_bytes = bytes;
    for (const bool both : {false, true}) {
      virtual_world::world({0, 0, 0, 0}, options, [&](Communicator& communicator) {
        const bool odd = communicator.topology.rank % 2 != 0;
        const Kinds kinds{odd || both ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd && !both ? HOST_DEVICE_PLAIN : HOST_DEVICE_UNSHAREABLE};
        all_calls(communicator, kinds);
      });
    }
  }
}

TEST_P(EveryGatheringOnDevices, goes_another_way_where_nothing_can_be_mapped) {
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 0}, forced(), [](Communicator& communicator) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      ++call;
      EXPECT_STRNE(checked(communicator, shape_of(count, call), call, Side::apart).plan->algorithm, GetParam().name);
    }
  });
}

// Several calls are in a stream. Nobody waits for them before all are asked for. In place is for allgather only.
void gather_in_a_stream(Communicator& communicator, const Shape& shape, void* stream) {
  const bool gathers = shape.collective == Collective::allgather;
  std::deque<OnDevice> calls;
  for (std::uint64_t call = 1; call <= 5; ++call) {
    calls.emplace_back(communicator.topology, shape, call, gathers && call % 2 == 0 ? Side::in_place : Side::apart, Kinds{});
    const Status status = run_on_stream(communicator, shape, calls.back(), stream);
    EXPECT_TRUE(status.ok()) << status.what;
  }
  host_device_wait(stream);
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  for (OnDevice& one : calls) EXPECT_EQ(one.wrong(), "") << shape.block_bytes;
}

TEST_P(EveryGatheringOnStreams, agrees_with_the_definition) {
  for (const unsigned delay_us : {0u, 300u}) {
    set({.delay_us = delay_us});
    for (const Nodes& nodes : {Nodes{0}, Nodes{0, 0, 0}}) {
      virtual_world::world(nodes, forced(), [&](Communicator& communicator) {
        void* const stream = host_device_open_stream();
        for (const std::size_t count : {1u, 100u, 5000u, 20001u}) {
          Shape shape = shape_of(count, count);
          gather_in_a_stream(communicator, shape, stream);
          shape.memory = Memory::device;
          shape.order = Order::stream;
          const Plan* const plan = communicator.slot().plans.find(shape);
          ASSERT_NE(plan, nullptr);
          EXPECT_STREQ(plan->algorithm, GetParam().name);
        }
        host_device_close_stream(stream);
      });
    }
  }
}

// All ranks refuse alike, and nothing is harmed: reductions in place, of one rank only, too; memory that no peer can map.
TEST_P(EveryGatheringOnDevices, refuses_in_streams_what_would_be_staged) {
  const bool gathers = GetParam().collective == Collective::allgather;
  virtual_world::world({0, 0, 0}, forced(), [&](Communicator& communicator) {
    const Shape shape = shape_of(100, 0);
    const auto refused = [&](Side side, Kinds kinds) {
      OnDevice one(communicator.topology, shape, 1, side, kinds);
      const Status status = run_on_stream(communicator, shape, one, nullptr);
      EXPECT_EQ(status.code, Code::unsupported) << status.what;
    };
    if (!gathers) refused(Side::in_place, {});
    if (!gathers) refused(communicator.topology.rank == 1 ? Side::in_place : Side::apart, {});
    refused(Side::apart, {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_UNSHAREABLE});
    EXPECT_STREQ(checked(communicator, shape, 2, Side::apart).plan->algorithm, GetParam().name);
  });
}

// On several nodes they go through host memory.
TEST_P(EveryGatheringOnDevices, is_right_on_several_nodes) {
  virtual_world::world({0, 0, 1, 1, 1}, mapped_at_once(), [](Communicator& communicator) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      for (const Side side : {Side::apart, Side::in_place}) {
        ++call;
        const Outcome outcome = checked(communicator, shape_of(count, call), call, side);
        EXPECT_STREQ(outcome.plan->algorithm, "multi_lane");
      }
    }
  });
}

}  // namespace
}  // namespace crossrail::tests
