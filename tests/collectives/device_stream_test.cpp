// These tests run alltoall in the order of streams, by every row that can, and compare with the definition, with ranks as threads.

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "selection/selection.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kSizes[] = {7, 4099, 16385};
#else
constexpr std::size_t kSizes[] = {1, 7, 100, 4095, 4096, 16385, 70000};
#endif

class EveryRowOnStreams : public testing::TestWithParam<Algorithm>, protected WithHostDevice {};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryRowOnStreams, testing::ValuesIn(device_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

class Streams : public testing::Test, protected WithHostDevice {};

const Plan* stream_plan(Communicator& communicator, std::size_t bytes) {
  return communicator.slot().plans.find(device_shape(bytes, false, Order::stream));
}

// Data go into what is sent, the call runs, and what has come goes into a place of its own, all in the stream. Nobody waits.
class StreamCalls {
 public:
  StreamCalls(Communicator& communicator, std::size_t block_bytes, void* stream, Kinds kinds = {})
      : communicator_(communicator), shape_(alltoall_shape(block_bytes)), case_(communicator, shape_, kinds), stream_(stream) {}

  Status call(std::uint64_t number) {
    filled_.emplace_back(case_.bytes());
    got_.emplace_back(case_.bytes());
    case_.fill(number, filled_.back().data());
    copy({case_.send().data(), filled_.back().data(), case_.bytes()});
    const Status status = run_on_stream(communicator_, shape_, case_.buffers(), stream_);
    copy({got_.back().data(), case_.recv().data(), case_.bytes()});
    numbers_.push_back(number);
    return status;
  }
  void check() {
    host_device_wait(stream_);
    for (std::size_t at = 0; at < numbers_.size(); ++at) {
      EXPECT_EQ(case_.wrong(numbers_[at], got_[at].data()), "") << case_.text(numbers_[at]);
    }
    EXPECT_TRUE(case_.send().intact() && case_.recv().intact()) << case_.text(0);
  }

 private:
  void copy(const crossrail_block& block) { host_device_copy(stream_, &block); }
  Communicator& communicator_;
  Shape shape_;
  DeviceCase case_;
  void* stream_;
  std::deque<std::vector<std::byte>> filled_, got_;
  std::vector<std::uint64_t> numbers_;
};

// Nobody frees what others may still write to.
void everybody_is_done(Communicator& communicator) { EXPECT_TRUE(communicator.slot().control->barrier().ok()); }

void run_calls(Communicator& communicator, std::size_t bytes, void* stream) {
  StreamCalls calls(communicator, bytes, stream);
  for (std::uint64_t call = 1; call <= 6; ++call) {
    const Status status = calls.call(call);
    EXPECT_TRUE(status.ok()) << status.what << ": blocks of " << bytes;
  }
  calls.check();
  everybody_is_done(communicator);
}

// ipc_resident_push is for no stream: the table's row takes its place.
TEST_P(EveryRowOnStreams, agrees_with_the_definition) {
  for (const unsigned delay_us : {0u, 300u}) {
    set({.delay_us = delay_us});
    for (const Nodes& nodes : {Nodes{0}, Nodes{0, 0}, Nodes{0, 0, 0}, Nodes{0, 0, 0, 0, 0}}) {
      virtual_world::world(nodes, forced_on_devices(GetParam()), [](Communicator& communicator) {
        void* const stream = host_device_open_stream();
        for (const std::size_t bytes : kSizes) {
          run_calls(communicator, bytes, stream);
          const Plan* const plan = stream_plan(communicator, bytes);
          const bool fits = GetParam().fits(communicator.topology, device_shape(bytes, false, Order::stream));
          const char* const alone = bytes <= 16384 ? "packet" : "ipc_kernel_push";
          const char* const instead = communicator.topology.size == 1 ? alone : "ll128";
          EXPECT_STREQ(plan->algorithm, fits ? GetParam().name : instead) << bytes;
        }
        host_device_close_stream(stream);
      });
    }
  }
}

// Null is the program's default stream, not a stream of ours that nothing else is ordered with.
TEST_P(EveryRowOnStreams, is_ordered_with_the_default_stream) {
  set({.delay_us = 500});
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    for (const std::size_t bytes : {64, 5000}) run_calls(communicator, bytes, nullptr);
  });
}

// Calls that return when they are done do not disturb those in streams, nor the other way round.
TEST_P(EveryRowOnStreams, goes_beside_other_calls) {
  set({.delay_us = 200});
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    void* const stream = host_device_open_stream();
    for (const std::size_t bytes : {100, 5000, 20000}) {
      StreamCalls calls(communicator, bytes, stream);
      DeviceCase beside(communicator, alltoall_shape(bytes), {});
      for (std::uint64_t call = 1; call <= 5; ++call) {
        EXPECT_TRUE(calls.call(call).ok());
        (void)beside.call(100 + call);
      }
      calls.check();
      everybody_is_done(communicator);
    }
    host_device_close_stream(stream);
  });
}

TEST_F(Streams, take_the_rows_of_the_tables_for_streams) {
  virtual_world::WorldOptions options;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    const std::pair<std::size_t, const char*> rows[] = {{100, "ll128"}, {std::size_t{1} << 20, "ll128"}, {(std::size_t{1} << 20) + 1, "chunks"}};
    for (const auto& [bytes, row] : rows) {
      run_calls(communicator, bytes, nullptr);
      EXPECT_STREQ(stream_plan(communicator, bytes)->algorithm, row) << bytes;
    }
  });
}

TEST_F(Streams, go_other_ways_where_links_break_packets_of_128_bytes) {
  set({.break_lines = 1});
  virtual_world::WorldOptions options;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    const std::pair<std::size_t, const char*> rows[] = {{100, "packet"}, {16384, "packet"}, {16400, "chunks"}};
    for (const auto& [bytes, row] : rows) {
      run_calls(communicator, bytes, nullptr);
      EXPECT_STREQ(stream_plan(communicator, bytes)->algorithm, row) << bytes;
    }
  });
  ASSERT_TRUE(read_tuning("alltoall,stream,1,*,*,ipc_copy_pull,\nalltoall,device,1,*,*,packet,\n", "mine", options.tuning).ok());
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    run_calls(communicator, 100, nullptr);
    EXPECT_STREQ(stream_plan(communicator, 100)->algorithm, "ipc_copy_pull");
  });
}

// Checks that the call is refused, with a reason, that nothing is enqueued and nothing harmed.
void expect_refused(Communicator& communicator, const Shape& shape, UserBuffers& buffers, const char* why) {
  const Status status = run_on_stream(communicator, shape, buffers, nullptr);
  EXPECT_EQ(status.code, Code::unsupported) << why;
  EXPECT_NE(std::string(status.what).find(why), std::string::npos) << status.what;
}

// Rank 0 has come back from all its calls before any other rank makes its own. Their sizes are new, and so is their memory.
TEST_F(Streams, wait_for_nobody_once_they_are_open) {
  std::atomic<bool> rank_0_is_back{false};
  virtual_world::world({0, 0, 0}, {}, [&](Communicator& communicator) {
    run_calls(communicator, 64, nullptr);
    constexpr auto kLongest = std::chrono::seconds(20);
    const auto end = std::chrono::steady_clock::now() + kLongest;
    const bool waits = communicator.topology.rank != 0;
    while (waits && !rank_0_is_back && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(!waits || rank_0_is_back);
    std::deque<StreamCalls> all;
    for (const std::size_t bytes : {1, 100, 5000, 20000, 1 << 20}) {
      StreamCalls& calls = all.emplace_back(communicator, bytes, nullptr);
      for (std::uint64_t call = 1; call <= 3; ++call) EXPECT_TRUE(calls.call(call).ok());
    }
    if (!waits) rank_0_is_back = true;
    for (StreamCalls& calls : all) calls.check();
    everybody_is_done(communicator);
  });
}

// A rank whose call is refused has not made it. The others wait for it on their devices, and calls of all kinds go on.
TEST_F(Streams, wait_for_a_rank_whose_call_was_wrong) {
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    constexpr std::size_t kBytes = 64;
    const Shape shape = alltoall_shape(kBytes);
    run_calls(communicator, kBytes, nullptr);
    DeviceCase one(communicator, shape, {});
    for (int again = 0; again < 3 && communicator.topology.rank == 1; ++again) {
      std::vector<std::byte> host(one.bytes());
      PlainBuffers in_host_memory(Buffers{host.data(), host.data()}, one.bytes());
      expect_refused(communicator, shape, in_host_memory, "not in memory of the rank's device");
      one.buffers().gaps = true;
      expect_refused(communicator, shape, one.buffers(), "have gaps");
      expect_refused(communicator, alltoall_shape(kBytes, true), one.buffers(), "not in place");
      one.buffers().gaps = false;
    }
    run_calls(communicator, kBytes, nullptr);
    for (std::uint64_t call = 1; call <= 4; ++call) EXPECT_STREQ(one.call(call).plan->algorithm, "ipc_kernel_push");
  });
}

// Rows whose ranks map each other's memory are asked for. Others take what a rank's own device reaches.
virtual_world::WorldOptions mapping() {
  virtual_world::WorldOptions options;
  options.settings.alltoall = "ipc_kernel_push";
  return options;
}

TEST_F(Streams, refuse_what_they_cannot_do) {
  set({.break_lines = 1});
  virtual_world::world({0, 0, 0}, mapping(), [](Communicator& communicator) {
    for (const std::size_t bytes : {64, 50000}) {
      const Shape shape = alltoall_shape(bytes);
      DeviceCase one(communicator, shape, {});
      std::vector<std::byte> host(one.bytes());
      PlainBuffers mixed(communicator.topology.rank == 1 ? Buffers{host.data(), host.data()} : one.buffers().device_buffers(), one.bytes());
      expect_refused(communicator, shape, mixed, "not in device memory");
      one.buffers().gaps = communicator.topology.rank == 2;
      expect_refused(communicator, shape, one.buffers(), "have gaps");
      expect_refused(communicator, alltoall_shape(bytes, true), one.buffers(), "not in place");
      run_calls(communicator, bytes, nullptr);
    }
    DeviceCase unshareable(communicator, alltoall_shape(50000), {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE});
    expect_refused(communicator, alltoall_shape(50000), unshareable.buffers(), "cannot be mapped");
    run_calls(communicator, 50000, nullptr);
  });
}

TEST_F(Streams, refuse_ranks_that_share_a_device) {
  set({.devices = 1});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    for (const std::size_t bytes : {64, 5000}) {
      DeviceCase one(communicator, alltoall_shape(bytes), {});
      expect_refused(communicator, alltoall_shape(bytes), one.buffers(), "crossrail run --mps");
      const Outcome outcome = one.call(1);
      EXPECT_STREQ(outcome.plan->algorithm, "ipc_kernel_push");
    }
  });
}

// With an MPS server, kernels of ranks that share a device run at the same time.
TEST_F(Streams, take_ranks_that_share_a_device_at_the_same_time) {
  set({.devices = 1, .delay_us = 200, .concurrent = 1});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    for (const std::size_t bytes : {64, 5000, 2 << 20}) {
      run_calls(communicator, bytes, nullptr);
      DeviceCase beside(communicator, alltoall_shape(bytes), {});
      EXPECT_STREQ(beside.call(1).plan->algorithm, "ipc_kernel_push");
    }
  });
}

TEST_F(Streams, take_memory_that_no_peer_can_map) {
  set({.break_lines = 1});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    for (const std::size_t bytes : {64, 50000}) {
      StreamCalls calls(communicator, bytes, nullptr, {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE});
      EXPECT_TRUE(calls.call(1).ok());
      calls.check();
      everybody_is_done(communicator);
    }
  });
}

TEST_F(Streams, refuse_memory_that_no_peer_can_map) {
  set({.refuse_maps = 1, .break_lines = 1});
  virtual_world::world({0, 0, 0}, mapping(), [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(50000), {});
    expect_refused(communicator, alltoall_shape(50000), one.buffers(), "mapping refused");
    expect_refused(communicator, alltoall_shape(50000), one.buffers(), "cannot be mapped");
  });
}

}  // namespace
}  // namespace crossrail::tests
