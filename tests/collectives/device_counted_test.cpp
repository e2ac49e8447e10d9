// These tests run alltoallv in the order of streams, with counts that only the device sees, and compare with the definition, with ranks as threads.

#include "tests/collectives/counted_case.h"
#include "tests/collectives/device_vector_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRepetitions = 1;
#else
constexpr int kRepetitions = 3;
#endif
constexpr int kAllOnDevice = 15;

class CountedOnStreams : public testing::Test, protected WithHostDevice {};

// Nobody frees what others may still write to.
void everybody_is_done(Communicator& communicator) { EXPECT_TRUE(communicator.slot().control->barrier().ok()); }

void expect_refused(const Status& status, const char* why) {
  EXPECT_EQ(status.code, Code::unsupported) << why;
  EXPECT_NE(std::string(status.what == nullptr ? "" : status.what).find(why), std::string::npos) << status.what;
}

// A rank that has been told of nothing wrong has no error, and `why` is null.
void expect_told(const Status& status, const char* why) {
  EXPECT_EQ(status.code, why == nullptr ? Code::ok : Code::invalid);
  const std::string told = status.ok() ? "" : status.what;
  EXPECT_TRUE(why == nullptr || told.find(why) != std::string::npos) << told;
}

void all_counts(Communicator& communicator, CountedCalls& calls) {
  std::uint64_t number = 0;
  for (int again = 0; again < kRepetitions; ++again) {
    for (const Counts counts : kCounts) {
      const Status status = calls.call(counts, ++number);
      EXPECT_TRUE(status.ok()) << status.what;
    }
  }
  calls.check();
  everybody_is_done(communicator);
}

const Plan* stream_plan(Communicator& communicator) {
  Shape shape = kVectorShape;
  shape.memory = Memory::device;
  shape.order = Order::stream;
  return communicator.slot().plans.find(shape);
}

TEST_F(CountedOnStreams, agree_with_the_definition) {
  for (const unsigned delay_us : {0u, 300u}) {
    set({.delay_us = delay_us});
    for (const Nodes& nodes : {Nodes{0}, Nodes{0, 0}, Nodes{0, 0, 0}, Nodes{0, 0, 0, 0, 0}}) {
      virtual_world::world(nodes, mapped_at_once(), [](Communicator& communicator) {
        void* const stream = host_device_open_stream();
        for (const std::int64_t element_bytes : {1, 4, 12}) {
          CountedCalls calls(communicator, element_bytes, kAllOnDevice, stream);
          all_counts(communicator, calls);
        }
        EXPECT_STREQ(stream_plan(communicator)->algorithm, "ipc_push");
        host_device_close_stream(stream);
      });
    }
  }
}

// The call reads what is in host memory, and the stream reads what is in device memory.
TEST_F(CountedOnStreams, take_arrays_of_either_memory) {
  set({.delay_us = 100});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    for (int arrays = 0; arrays <= kAllOnDevice; ++arrays) {
      const int mine = (arrays + communicator.topology.rank) & kAllOnDevice;
      CountedCalls calls(communicator, 4, mine, nullptr);
      all_counts(communicator, calls);
    }
  });
}

TEST_F(CountedOnStreams, go_beside_other_calls) {
  set({.delay_us = 200});
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    void* const stream = host_device_open_stream();
    CountedCalls calls(communicator, 1, kAllOnDevice, stream);
    std::uint64_t number = 0;
    for (const Counts counts : kCounts) {
      EXPECT_TRUE(calls.call(counts, ++number).ok());
      DeviceVectorCase beside(communicator, {counts, number}, {});
      (void)beside.call();
      DeviceCase equal(communicator, alltoall_shape(100), {});
      (void)equal.call(number);
      equal.fill(number, equal.send().touch());
      EXPECT_TRUE(run_on_stream(communicator, alltoall_shape(100), equal.buffers(), stream).ok());
      host_device_wait(stream);
      EXPECT_EQ(equal.wrong(number, equal.recv().touch()), "");
      everybody_is_done(communicator);
    }
    calls.check();
    everybody_is_done(communicator);
    host_device_close_stream(stream);
  });
}

// A rank that has nothing to send, or nothing to receive, needs no buffer for it.
TEST_F(CountedOnStreams, need_no_buffer_for_nothing) {
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    CountedSideCase send(300, 3, 3), recv(300, 3, 3);
    std::memset(recv.row.touch(), 0xEE, 300);
    fill_block(send.row.touch(), 100, 1, rank, 0);
    send.counts.set(nullptr, {rank == 0 ? 0 : 100, 0, 0});
    recv.counts.set(nullptr, rank == 0 ? std::vector<std::int32_t>{0, 100, 100} : std::vector<std::int32_t>{0, 0, 0});
    send.displacements.set(nullptr, {0, 0, 0});
    recv.displacements.set(nullptr, {0, 0, 200});
    crossrail_counted_side out = send.side(1), in = recv.side(1);
    if (rank == 0) out.base = nullptr;
    else in.base = nullptr;
    CountedBuffers buffers(out, in);
    for (int again = 0; again < 3; ++again) EXPECT_TRUE(run_on_stream(communicator, kVectorShape, buffers, nullptr).ok());
    host_device_wait(nullptr);
    everybody_is_done(communicator);
    std::vector<std::byte> expected(300, std::byte{0xEE});
    if (rank == 0) {
      fill_block(expected.data(), 100, 1, 1, 0);
      fill_block(expected.data() + 200, 100, 1, 2, 0);
    }
    EXPECT_TRUE(same_bytes(expected.data(), recv.row.touch(), expected.size()));
  });
}

// The blocks come as far as there is room, and the rest is nowhere. The sender's next call says so, and moves its own blocks nevertheless.
TEST_F(CountedOnStreams, cut_off_what_is_too_long) {
  virtual_world::world({0, 0, 0, 0}, {}, [](Communicator& communicator) {
    CountedCalls calls(communicator, 4, kAllOnDevice, nullptr);
    std::uint64_t number = 0;
    for (const Counts counts : {Counts::uniform, Counts::random, Counts::empty}) {
      calls.send_more(communicator.topology.rank == 2 ? 5 : 0);
      EXPECT_TRUE(calls.call(counts, ++number).ok());
      calls.check();
      everybody_is_done(communicator);
      calls.send_more(0);
      expect_told(calls.call(counts, ++number), communicator.topology.rank == 2 ? "was cut off" : nullptr);
      EXPECT_TRUE(calls.call(counts, ++number).ok());
      calls.check();
      everybody_is_done(communicator);
    }
  });
}

// A rank's own arrays may speak of memory that is not its buffer's, and of less than nothing.
TEST_F(CountedOnStreams, touch_nothing_outside_of_the_allocation) {
  constexpr std::int32_t kOutside[][2] = {{-1, 0}, {100, 2'000'000}, {100, -1000}, {2'000'000'000, 0}, {2'000'000'000, 2'000'000'000}};
  virtual_world::world({0, 0, 0}, {}, [&](Communicator& communicator) {
    CountedCalls calls(communicator, 4, kAllOnDevice, nullptr);
    for (const auto& [count, displacement] : kOutside) {
      for (const bool sent : {false, true}) {
        const bool mine = communicator.topology.rank == 1;
        calls.set(calls.send(), {0, 0, mine && sent ? count : 0}, {0, 0, displacement});
        calls.set(calls.recv(), {0, 0, mine && !sent ? count : 0}, {0, 0, displacement});
        EXPECT_TRUE(calls.enqueue().ok());
        host_device_wait(nullptr);
        everybody_is_done(communicator);
        EXPECT_TRUE(calls.send().intact() && calls.recv().intact());
        for (CountedSideCase* const side : {&calls.send(), &calls.recv()}) calls.set(*side, {0, 0, 0}, {0, 0, 0});
        expect_told(calls.enqueue(), !mine ? nullptr : sent ? "nothing was sent" : "nothing was received");
      }
    }
    all_counts(communicator, calls);
  });
}

TEST_F(CountedOnStreams, refuse_what_they_cannot_do) {
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    CountedCalls calls(communicator, 4, kAllOnDevice, nullptr);
    const bool mine = communicator.topology.rank == 1;
    DeviceRow unshareable(1000, 0, HOST_DEVICE_UNSHAREABLE);
    std::vector<std::byte> host(1000);
    const auto refused = [&](void* send, void* recv, bool possible) {
      crossrail_counted_side out = calls.send().side(4), in = calls.recv().side(4);
      if (mine) out.base = send;
      if (mine) in.base = recv;
      CountedBuffers buffers(out, in, possible || !mine);
      expect_refused(run_on_stream(communicator, kVectorShape, buffers, nullptr), "not in device memory");
    };
    for (int again = 0; again < 2; ++again) {
      refused(host.data(), calls.recv().row.data(), true);
      refused(calls.send().row.data(), host.data(), true);
      refused(calls.send().row.data(), unshareable.data(), true);
      refused(calls.send().row.data(), calls.recv().row.data(), false);
      all_counts(communicator, calls);
    }
  });
}

TEST_F(CountedOnStreams, refuse_ranks_that_share_a_device) {
  set({.devices = 1});
  virtual_world::world({0, 0, 0}, {}, [](Communicator& communicator) {
    CountedCalls calls(communicator, 4, kAllOnDevice, nullptr);
    for (int again = 0; again < 2; ++again) expect_refused(calls.enqueue(), "crossrail run --mps");
  });
}

}  // namespace
}  // namespace crossrail::tests
