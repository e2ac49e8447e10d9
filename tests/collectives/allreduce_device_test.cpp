// These tests compare every row of allreduce for device memory with the definition, with ranks as threads, for calls and for calls in streams.

#include <deque>

#include "tests/collectives/allreduce_device_case.h"

namespace crossrail::tests {
namespace {

const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};

// This is a row with parameters.
struct Forced : Algorithm {
  std::string parameters;
};

std::vector<Forced> all_forced() {
  std::vector<Forced> all;
  for (const Algorithm& row : catalogue(Collective::allreduce, Memory::device)) all.push_back({row, ""});
  all.push_back({*find_algorithm(Collective::allreduce, "two_shot_pull", Memory::device), " halves=64"});
  return all;
}

class EveryReductionOnDevices : public testing::TestWithParam<Forced>, protected WithHostDevice {
 protected:
  static virtual_world::WorldOptions forced() { return forced_reduction(GetParam().name + GetParam().parameters); }
  static bool fits(const Communicator& communicator, const Shape& shape, Order order = Order::call) {
    return GetParam().fits(communicator.topology, on_devices(shape, order));
  }
  // Makes calls with all counts and operations, whoever is in place.
  static void all_calls(Communicator& communicator, Kinds kinds) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      for (int variant = 0; variant < 4; ++variant) {
        const Shape shape = allreduce_shape(count, kReductions[++call % std::size(kReductions)]);
        const bool mixed = variant == 3 && communicator.topology.rank % 2 == 0;
        const Outcome outcome = checked(communicator, shape, call, variant == 1 || mixed ? Side::in_place : Side::apart, kinds);
        if (!outcome.status.ok() || count == 0) continue;
        EXPECT_EQ(std::string(outcome.plan->algorithm) == GetParam().name, fits(communicator, shape)) << count;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(allreduce, EveryReductionOnDevices,
                         testing::ValuesIn(all_forced()),
                         [](const auto& row) { return std::string(row.param.name) + (row.param.parameters.empty() ? "" : "_in_halves"); });

TEST_P(EveryReductionOnDevices, agrees_with_the_definition) {
  for (const Nodes& nodes : kWorlds) {
    virtual_world::world(nodes, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
  }
}

TEST_P(EveryReductionOnDevices, waits_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 0}, forced(), [](Communicator& communicator) { all_calls(communicator, {}); });
}

// Some ranks and sides have memory that cannot be shared, and there is little memory of ours, so that there are rounds.
TEST_P(EveryReductionOnDevices, stages_what_cannot_be_mapped) {
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

TEST_P(EveryReductionOnDevices, goes_another_way_where_nothing_can_be_mapped) {
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 0}, forced(), [](Communicator& communicator) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      const Outcome outcome = checked(communicator, allreduce_shape(count), ++call, Side::apart);
      EXPECT_STRNE(outcome.plan->algorithm, GetParam().name);
    }
  });
}

TEST_P(EveryReductionOnDevices, is_right_where_ranks_share_a_device) {
  on_shared_devices(forced(), [](Communicator& communicator, Kinds kinds) {
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      for (const Side side : {Side::in_place, Side::apart}) {
        const Shape shape = allreduce_shape(count, kReductions[++call % std::size(kReductions)]);
        const Outcome outcome = checked(communicator, shape, call, side, kinds);
        if (count == 0) continue;
        EXPECT_STREQ(outcome.plan->algorithm, "two_shot_pull") << "packets' kernels wait for each other";
      }
    }
  });
}

// The calls have all elements of the standard that devices know, also of lengths that do not divide 16 bytes.
TEST_P(EveryReductionOnDevices, takes_all_elements) {
  virtual_world::world({0, 0, 0}, forced(), [](Communicator& communicator) {
    for (int operation = 1; operation <= static_cast<int>(Operation::maximum_place); ++operation) {
      for (int element = 1; element <= static_cast<int>(Element::two_float64); ++element) {
        const Reduction reduction{static_cast<Operation>(operation), static_cast<Element>(element)};
        if (!is_defined(reduction)) continue;
        // The elements are zeros, of which none of the operations makes anything else, not even a logical one.
        const Shape shape = allreduce_shape(101, reduction);
        DeviceRow send(shape.block_bytes, 0, HOST_DEVICE_PLAIN), recv(shape.block_bytes, 0, HOST_DEVICE_PLAIN);
        std::memset(send.touch(), 0, shape.block_bytes);
        std::memset(recv.touch(), 0xEE, shape.block_bytes);
        DeviceBuffers buffers({send.data(), recv.data()}, shape.block_bytes);
        const Outcome outcome = run_collective(communicator, shape, buffers);
        ASSERT_TRUE(outcome.status.ok());
        EXPECT_EQ(std::string(outcome.plan->algorithm) == GetParam().name, fits(communicator, shape)) << name_of(reduction.element);
        if (!fits(communicator, shape)) continue;  // long double has bytes that nobody writes.
        EXPECT_TRUE(std::all_of(recv.touch(), recv.touch() + shape.block_bytes, [](std::byte one) { return one == std::byte{0}; }) && recv.intact());
      }
    }
  });
}

bool fits_in_streams_alone(const char* algorithm) { return std::string(algorithm) == "chunks"; }

// The row of this name makes inexact sums, in device memory of ranks on `nodes`. They must be as if added in the order of the ranks.
void expect_order_of_ranks(const Nodes& nodes, const virtual_world::WorldOptions& options, const char* algorithm) {
  constexpr std::size_t kCount = 1000;
  std::vector<float> expected(kCount);
  const auto number = [](int rank, std::size_t place) { return static_cast<float>(mix_word(static_cast<std::uint64_t>(rank), place) >> 40) * 1e-3f; };
  for (std::size_t place = 0; place < kCount; ++place) {
    expected[place] = number(0, place);
    for (int rank = 1; rank < 5; ++rank) expected[place] += number(rank, place);
  }
  virtual_world::world(nodes, options, [&](Communicator& communicator) {
    const Shape shape = allreduce_shape(kCount, {Operation::sum, Element::float32});
    DeviceRow send(shape.block_bytes, 0, HOST_DEVICE_PLAIN), recv(shape.block_bytes, 0, HOST_DEVICE_PLAIN);
    for (std::size_t place = 0; place < kCount; ++place) reinterpret_cast<float*>(send.touch())[place] = number(communicator.topology.rank, place);
    DeviceBuffers buffers({send.data(), recv.data()}, shape.block_bytes);
    if (fits_in_streams_alone(algorithm)) {
      EXPECT_TRUE(run_on_stream(communicator, shape, buffers, nullptr).ok());
      host_device_wait(nullptr);
      EXPECT_TRUE(communicator.slot().control->barrier().ok());
    } else {
      EXPECT_STREQ(run_collective(communicator, shape, buffers).plan->algorithm, algorithm);
    }
    EXPECT_EQ(std::memcmp(recv.touch(), expected.data(), shape.block_bytes), 0) << algorithm;
  });
}

// What is inexact has the same bits on all ranks, by all rows, because the order is that of the ranks.
TEST(OrderOnDevices, is_that_of_the_ranks) {
  device::use_module(host_device_module());
  for (const Algorithm& row : catalogue(Collective::allreduce, Memory::device)) expect_order_of_ranks({0, 0, 0, 0, 0}, forced_reduction(row.name), row.name);
  device::use_module(nullptr);
}

// On several nodes, and for ranks that are not one after the other there, this holds only where it is asked for.
TEST(OrderOnDevices, is_that_of_the_ranks_on_several_nodes) {
  device::use_module(host_device_module());
  virtual_world::WorldOptions options = forced_reduction("multi_lane");
  options.settings.reproducible = 1;
  expect_order_of_ranks({0, 1, 0, 1, 1}, options, "rank_order");
  device::use_module(nullptr);
}

// Several calls are in a stream. Nobody waits for them before all are asked for.
void reduce_in_a_stream(Communicator& communicator, std::size_t count, void* stream) {
  const Shape shape = allreduce_shape(count);
  std::deque<OnDevice> calls;
  for (std::uint64_t call = 1; call <= 5; ++call) {
    calls.emplace_back(communicator, shape, call, call % 2 == 0 ? Side::in_place : Side::apart);
    const Status status = run_on_stream(communicator, shape, calls.back().buffers(), stream);
    EXPECT_TRUE(status.ok()) << status.what;
  }
  host_device_wait(stream);
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  for (OnDevice& one : calls) EXPECT_EQ(one.wrong(), "") << count;
}

TEST_P(EveryReductionOnDevices, goes_in_the_order_of_streams) {
  for (const unsigned delay_us : {0u, 300u}) {
    set({.delay_us = delay_us});
    for (const Nodes& nodes : {Nodes{0}, Nodes{0, 0, 0}}) {
      virtual_world::world(nodes, forced(), [](Communicator& communicator) {
        void* const stream = host_device_open_stream();
        const char* const instead = communicator.topology.size == 1 ? "two_shot_pull" : "ll128_one_shot";
        for (const std::size_t count : {1u, 100u, 5000u, 20001u}) {
          reduce_in_a_stream(communicator, count, stream);
          const Shape planned = on_devices(allreduce_shape(count), Order::stream);
          const Plan* const plan = communicator.slot().plans.find(planned);
          ASSERT_NE(plan, nullptr);
          EXPECT_STREQ(plan->algorithm, fits(communicator, allreduce_shape(count), Order::stream) ? GetParam().name : instead);
        }
        host_device_close_stream(stream);
      });
    }
  }
}

// A setting may ask for an algorithm of several nodes on one node, for calls that cannot run on its devices.
TEST(ReductionOnDevices, goes_by_the_host_where_nobody_can_map_memory) {
  const WithHostDevice device;
  WithHostDevice::set({.refuse_maps = 1});
  virtual_world::world({0, 0, 0}, forced_reduction("multi_lane"), [](Communicator& communicator) {
    for (std::uint64_t call = 1; call <= 6; ++call) {
      OnDevice one(communicator, allreduce_shape(5000), call, Side::apart);
      EXPECT_TRUE(run_collective(communicator.slot(), allreduce_shape(5000), one.buffers()).status.ok());
      EXPECT_EQ(one.wrong(), "") << call;
    }
  });
}

// Ranks share a device whose kernels run at the same time, by the rows of the table.
TEST(ReductionInStreams, goes_where_ranks_share_a_device) {
  const WithHostDevice device;
  WithHostDevice::set({.devices = 1, .delay_us = 200, .concurrent = 1});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    void* const stream = host_device_open_stream();
    for (const std::size_t count : {1u, 100u, 5000u, 200'001u}) reduce_in_a_stream(communicator, count, stream);
    host_device_close_stream(stream);
  });
}

}  // namespace
}  // namespace crossrail::tests
