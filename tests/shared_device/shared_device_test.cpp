// Several ranks share a device and its first one's buffers, and each rank has its share of an allreduce. Nodes have threads as ranks, on devices that
// are made of host memory.

#include "tests/shared_device/shared_case.h"

namespace crossrail::tests {
namespace {

class SharedDevices : public testing::Test, protected WithHostDevice {
 protected:
  static void all_calls(SharedCase& one) {
    std::uint64_t number = 0;
    for (const std::size_t count : {0u, 1u, 5u, 1023u, 5000u, 20001u}) {
      ++number;
      one.check(kReductions[number % std::size(kReductions)], count, number % 2 * 24, number);
    }
  }
  // A buffer of 40 000 bytes is open.
  template <class Body>
  static void in_impatient_world(const Sharing& world, Body body) {
    virtual_world::WorldOptions options = in_form(true);
    options.settings.patience_ms = 20;
    virtual_world::world(world.nodes, options, [&](Communicator& communicator) {
      SharedDevice device(communicator.slot(), world.keys);
      ASSERT_TRUE(device.open().ok());
      SharedCase one(device, world.keys, 40000);
      ASSERT_TRUE(one.opened().ok());
      body(device, one);
    });
  }
  // Fills blocks as an alltoall among the devices does.
  static void exchange_blocks_once(SharedDevice& device, std::size_t bytes, std::uint64_t call) {
    const int devices = device.members().devices(), mine = device.members().device();
    const std::size_t all = static_cast<std::size_t>(devices) * bytes;
    const bool leads = device.members().leads();
    DeviceRow send(all, 3, HOST_DEVICE_PLAIN), recv(all, 8, HOST_DEVICE_PLAIN);
    const auto at = [&](DeviceRow& row, int other) { return row.touch() + static_cast<std::size_t>(other) * bytes; };
    for (int other = 0; other < devices; ++other) fill_block(at(send, other), bytes, call, mine, other);
    Buffer sent, received;
    ASSERT_TRUE(device.open_buffer({leads ? send.data() : nullptr, all}, sent).ok());
    ASSERT_TRUE(device.open_buffer({leads ? recv.data() : nullptr, all}, received).ok());
    const Status status = shared_device::alltoall(device, {sent, received, bytes});
    ASSERT_TRUE(status.ok()) << status.what;
    std::vector<std::byte> wanted(bytes);
    for (int other = 0; leads && other < devices; ++other) {
      fill_block(wanted.data(), bytes, call, other, mine);
      EXPECT_TRUE(same_bytes(wanted.data(), at(recv, other), wanted.size())) << bytes << " from " << other;
    }
    EXPECT_TRUE(send.intact() && recv.intact());
    EXPECT_EQ(shared_device::alltoall(device, {sent, sent, bytes}).code, Code::invalid);
    EXPECT_EQ(shared_device::alltoall(device, {sent, received, bytes + 1}).code, Code::invalid);
    EXPECT_TRUE(device.close_buffer(sent).ok());
    EXPECT_TRUE(device.close_buffer(received).ok());
  }
  static constexpr std::size_t kBytes = 8 * 20001 + 64;
};

TEST_F(SharedDevices, agree_with_the_definition) {
  for (const Sharing& world : kWorlds) {
    for (const bool lanes : {true, false}) {
      for (const bool one_launcher : {true, false}) {
        virtual_world::world(world.nodes, in_form(lanes, one_launcher), [&](Communicator& communicator) {
          SharedDevice device(communicator.slot(), world.keys);
          ASSERT_TRUE(device.open().ok());
          SharedCase one(device, world.keys, kBytes);
          ASSERT_TRUE(one.opened().ok()) << one.opened().what;
          EXPECT_TRUE(one.buffer().lanes);
          all_calls(one);
          EXPECT_STREQ(device.plan().part, lanes ? "multi_lane" : "standard");
          EXPECT_TRUE(one.close().ok());
        });
      }
    }
  }
}

TEST_F(SharedDevices, wait_for_work_that_is_late) {
  set({.delay_us = 200});
  const Sharing& world = kWorlds[2];
  for (const bool lanes : {true, false}) {
    virtual_world::world(world.nodes, in_form(lanes), [&](Communicator& communicator) {
      SharedDevice device(communicator.slot(), world.keys);
      ASSERT_TRUE(device.open().ok());
      SharedCase one(device, world.keys, kBytes);
      all_calls(one);
    });
  }
}

TEST_F(SharedDevices, exchange_blocks) {
  for (const bool refused : {false, true}) {
    set({.refuse_maps = refused ? 1 : 0, .delay_us = 50});
    for (const Sharing& world : kWorlds) {
      virtual_world::world(world.nodes, in_form(true), [&](Communicator& communicator) {
        SharedDevice device(communicator.slot(), world.keys);
        ASSERT_TRUE(device.open().ok());
        std::uint64_t call = 0;
        for (const std::size_t bytes : {1u, 100u, 5000u, 70001u}) exchange_blocks_once(device, bytes, ++call);
      });
    }
  }
}

// Several buffers are open at a time, some in one allocation, and others come in their places.
TEST_F(SharedDevices, have_several_buffers) {
  const Sharing& world = kWorlds[2];
  virtual_world::world(world.nodes, in_form(true, false), [&](Communicator& communicator) {
    SharedDevice device(communicator.slot(), world.keys);
    ASSERT_TRUE(device.open().ok());
    SharedCase first(device, world.keys, 40000);
    for (int round = 0; round < 5; ++round) {
      SharedCase second(device, world.keys, 90000 + 1000 * static_cast<std::size_t>(round));
      for (std::uint64_t call = 0; call < 6; ++call) {
        first.check(kReductions[0], 9000, 16, call);
        second.check(kReductions[1], 11000, 8, call);
      }
      EXPECT_TRUE(second.close().ok());
    }
    first.check(kReductions[2], 10000, 0, 1);
    EXPECT_TRUE(first.close().ok());
  });
}

TEST_F(SharedDevices, share_one_allocation_among_buffers) {
  const Sharing& world = kWorlds[1];
  virtual_world::world(world.nodes, in_form(true), [&](Communicator& communicator) {
    SharedDevice device(communicator.slot(), world.keys);
    ASSERT_TRUE(device.open().ok());
    DeviceRow row(8192, 0, HOST_DEVICE_PLAIN);
    const bool leads = device.members().leads();
    Buffer lower, upper;
    ASSERT_TRUE(device.open_buffer({leads ? row.data() : nullptr, 4096}, lower).ok());
    ASSERT_TRUE(device.open_buffer({leads ? row.data() + 4096 : nullptr, 4096}, upper).ok());
    EXPECT_TRUE(device.close_buffer(lower).ok());
    const std::int32_t mine = communicator.topology.rank + 1;
    std::memcpy(row.touch() + 4096, &mine, sizeof mine);
    EXPECT_TRUE(shared_device::allreduce(device, upper, {0, 1, {Operation::sum, Element::int32}}).ok());
    std::int32_t sum = 0;
    std::memcpy(&sum, row.touch() + 4096, sizeof sum);
    EXPECT_EQ(sum, leads ? 1 + 4 : mine);
    EXPECT_TRUE(device.close_buffer(upper).ok());
    EXPECT_TRUE(row.intact());
  });
}

// No other process can open this memory. Its leader reaches it, and no kernel needs that of another device.
TEST_F(SharedDevices, serve_what_cannot_be_exported) {
  for (const bool refused : {false, true}) {
    set({.refuse_maps = refused ? 1 : 0});
    for (const int which : {0, 1, 2, 4}) {
      const Sharing& world = kWorlds[which];
      virtual_world::world(world.nodes, in_form(true), [&](Communicator& communicator) {
        SharedDevice device(communicator.slot(), world.keys);
        ASSERT_TRUE(device.open().ok());
        SharedCase one(device, world.keys, kBytes, refused ? HOST_DEVICE_PLAIN : HOST_DEVICE_UNSHAREABLE);
        ASSERT_TRUE(one.opened().ok()) << one.opened().what;
        all_calls(one);
        EXPECT_TRUE(one.close().ok());
      });
    }
  }
}

TEST_F(SharedDevices, refuse_it_where_each_process_launches) {
  const Sharing& world = kWorlds[0];
  virtual_world::world(world.nodes, in_form(true, false), [&](Communicator& communicator) {
    SharedDevice device(communicator.slot(), world.keys);
    ASSERT_TRUE(device.open().ok());
    SharedCase one(device, world.keys, 4096, HOST_DEVICE_UNSHAREABLE);
    EXPECT_EQ(one.opened().code, Code::unsupported);
    SharedCase other(device, world.keys, 4096);
    ASSERT_TRUE(other.opened().ok());
    other.check(kReductions[0], 1000, 0, 1);
  });
}

// All ranks hear of what one of them gives, and go on.
TEST_F(SharedDevices, refuse_what_makes_no_sense) {
  const Sharing& world = kWorlds[2];
  virtual_world::world(world.nodes, in_form(true), [&](Communicator& communicator) {
    SharedDevice device(communicator.slot(), world.keys);
    ASSERT_TRUE(device.open().ok());
    const bool leads = device.members().leads(), odd = communicator.topology.rank == 0;
    DeviceRow row(4096, 0, HOST_DEVICE_PLAIN);
    std::vector<std::byte> host(4096);
    Buffer none;
    EXPECT_EQ(device.open_buffer({leads ? (odd ? host.data() : row.data()) : nullptr, 4096}, none).code, Code::invalid);
    EXPECT_EQ(device.open_buffer({leads && !odd ? row.data() : nullptr, 4096}, none).code, Code::invalid);
    EXPECT_EQ(device.open_buffer({leads ? row.data() : nullptr, odd ? 4000u : 4096u}, none).code, Code::invalid);
    EXPECT_EQ(device.open_buffer({leads ? row.data() : nullptr, std::size_t{1} << 20}, none).code, Code::invalid);
    SharedCase one(device, world.keys, 4096);
    ASSERT_TRUE(one.opened().ok()) << one.opened().what;
    const Reduction sum{Operation::sum, Element::int32};
    EXPECT_EQ(shared_device::allreduce(device, one.buffer(), {0, 1025, sum}).code, Code::invalid);
    EXPECT_EQ(shared_device::allreduce(device, one.buffer(), {4, 1024, sum}).code, Code::invalid);
    EXPECT_EQ(shared_device::allreduce(device, one.buffer(), {5000, 0, sum}).code, Code::invalid);
    EXPECT_EQ(shared_device::allreduce(device, one.buffer(), {0, 1, {Operation::bitwise_and, Element::float32}}).code, Code::invalid);
    one.check(sum, 1024, 0, 1);
  });
}

// No kernel has long doubles, so processors combine them.
TEST_F(SharedDevices, combine_by_processors_what_no_kernel_knows) {
  const Sharing& world = kWorlds[2];
  virtual_world::world(world.nodes, in_form(true), [&](Communicator& communicator) {
    SharedDevice device(communicator.slot(), world.keys);
    ASSERT_TRUE(device.open().ok());
    constexpr std::size_t kCount = 3001;
    DeviceRow row(kCount * sizeof(long double), 0, HOST_DEVICE_PLAIN);
    std::vector<long double> numbers(kCount, static_cast<long double>(communicator.topology.rank));
    std::memcpy(row.touch(), numbers.data(), kCount * sizeof(long double));
    Buffer buffer;
    ASSERT_TRUE(device.open_buffer({device.members().leads() ? row.data() : nullptr, kCount * sizeof(long double)}, buffer).ok());
    ASSERT_TRUE(shared_device::allreduce(device, buffer, {0, kCount, {Operation::sum, Element::long_double}}).ok());
    EXPECT_STREQ(device.plan().part, "standard");
    std::memcpy(numbers.data(), row.touch(), kCount * sizeof(long double));
    const int leaders = 0 + 1 + 4 + 6;
    for (const long double number : numbers) ASSERT_EQ(number, device.members().leads() ? leaders : communicator.topology.rank);
    EXPECT_TRUE(row.intact());
    EXPECT_TRUE(device.close_buffer(buffer).ok());
  });
}

TEST_F(SharedDevices, are_one_process_alone) {
  virtual_world::world({0}, in_form(true), [](Communicator& communicator) {
    SharedDevice device(communicator.slot(), {3});
    ASSERT_TRUE(device.open().ok());
    SharedCase one(device, {3}, 8192);
    ASSERT_TRUE(one.opened().ok());
    one.check(kReductions[0], 2000, 0, 1);
    std::vector<std::byte> host(64);
    Buffer none;
    EXPECT_EQ(device.open_buffer({host.data(), 64}, none).code, Code::invalid);
    EXPECT_TRUE(one.close().ok());
  });
}

// A rank ends. The others get an error, and later calls get one at once.
TEST_F(SharedDevices, do_not_wait_for_who_has_gone) {
  in_impatient_world(kWorlds[0], [](SharedDevice& device, SharedCase& one) {
    one.check(kReductions[0], 9000, 0, 1);
    if (device.topology().rank == 3) return;
    const Elements elements{0, 9000, {Operation::sum, Element::int32}};
    const Status met = shared_device::allreduce(device, one.buffer(), elements);
    EXPECT_FALSE(met.ok());
    EXPECT_EQ(shared_device::allreduce(device, one.buffer(), elements).code, Code::broken);
  });
}

// Different calls are told apart, and nobody waits for ever.
TEST_F(SharedDevices, notice_calls_that_differ) {
  in_impatient_world(kWorlds[1], [](SharedDevice& device, SharedCase& one) {
    const std::size_t count = device.topology().rank == 4 ? 9001 : 9000;
    EXPECT_FALSE(shared_device::allreduce(device, one.buffer(), {0, count, {Operation::sum, Element::int32}}).ok());
  });
}

}  // namespace
}  // namespace crossrail::tests
