// Device memory comes and goes. These tests check what is mapped, staged, kept and let go of, with ranks as threads.

#include <atomic>
#include <chrono>
#include <thread>

#include "device_sharing/freed_memory.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {
namespace {

class Memory : public testing::Test, protected WithHostDevice {};

virtual_world::WorldOptions pushed_to_memory() {
  virtual_world::WorldOptions options;
  options.settings.alltoall = "ipc_kernel_push";
  return options;
}

// Everybody has come here, and what one of them has read is what it was then.
int maps_now(Communicator& communicator) {
  static std::atomic<int> read{0};
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  if (communicator.topology.rank == 0) read = host_device_maps();
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  return read;
}
int pieces_now(Communicator& communicator) {
  static std::atomic<int> read{0};
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  if (communicator.topology.rank == 0) read = host_device_pieces();
  EXPECT_TRUE(communicator.slot().control->barrier().ok());
  return read;
}

// What a program allocates for one call is never mapped. What it keeps is mapped once.
TEST_F(Memory, is_mapped_when_it_is_used_again) {
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    { DeviceCase first(communicator, alltoall_shape(5000), {}); (void)first.call(1); }
    const int staging = maps_now(communicator);
    for (std::uint64_t call = 1; call <= 100; ++call) {
      DeviceCase fresh(communicator, alltoall_shape(5000), {});
      EXPECT_STREQ(fresh.call(call).plan->algorithm, "ipc_kernel_push");
    }
    EXPECT_EQ(maps_now(communicator), staging);
    DeviceCase kept(communicator, alltoall_shape(5000), {});
    for (std::uint64_t call = 1; call <= 100; ++call) (void)kept.call(call);
    EXPECT_EQ(maps_now(communicator), staging + 3 * 2);
    EXPECT_FALSE(communicator.slot().devices->staged(MappedSide::recv));
  });
  EXPECT_EQ(host_device_pieces(), 0);
}

// These are pairs of buffers in turn.
struct Turns {
  Turns(Communicator& of, int many) : communicator(of) {
    for (int i = 0; i < many; ++i) cases.push_back(std::make_unique<DeviceCase>(of, alltoall_shape(700), Kinds{}));
  }
  // Returns how often one of this rank's two sides was staged.
  int round() {
    int staged = 0;
    for (const auto& one : cases) {
      (void)one->call(++calls);
      const DeviceSharing& devices = *communicator.slot().devices;
      staged += (devices.staged(MappedSide::send) ? 1 : 0) + (devices.staged(MappedSide::recv) ? 1 : 0);
    }
    return staged;
  }
  // Goes on until all that is to be mapped is mapped.
  void settle() {
    for (int again = 0; again < 4; ++again) (void)round();
  }
  Communicator& communicator;
  std::vector<std::unique_ptr<DeviceCase>> cases;
  std::uint64_t calls = 0;
};

// Hundreds of allocations in turn are each mapped once. One side is mapped.
TEST_F(Memory, of_many_buffers_stays_mapped) {
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    Turns turns(communicator, 100);
    turns.settle();
    const int before = maps_now(communicator);
    EXPECT_EQ(turns.round(), 0);
    EXPECT_EQ(turns.round(), 0);
    EXPECT_EQ(maps_now(communicator), before);
  });
}

// When there is more than can be mapped, nothing is mapped in place of what is in use, and the others are staged. When that has gone, they are
// mapped.
TEST_F(Memory, of_too_many_buffers_is_staged) {
  virtual_world::WorldOptions options = pushed_to_memory();
  options.settings.device_buffers = 256;
  virtual_world::world({0, 0}, options, [](Communicator& communicator) {
    Turns turns(communicator, 300);
    turns.settle();
    const int before = maps_now(communicator), staged = turns.round();
    EXPECT_GT(staged, 0);
    EXPECT_LT(staged, 300);
    EXPECT_EQ(turns.round(), staged);
    EXPECT_LE(maps_now(communicator), before + 2 * 2 * 2) << "memory of ours, given back in the meantime";
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    turns.cases.resize(50);
    for (int again = 0; again < 20; ++again) (void)turns.round();
    EXPECT_EQ(turns.round(), 0);
  });
}

// This does the same for bytes.
TEST_F(Memory, of_too_many_bytes_is_staged) {
  virtual_world::WorldOptions options = pushed_to_memory();
  options.settings.device_mapped_bytes = 20000;  // This is enough for one side of some.
  virtual_world::world({0, 0}, options, [](Communicator& communicator) {
    Turns turns(communicator, 30);
    turns.settle();
    const int before = maps_now(communicator), staged = turns.round();
    EXPECT_GT(staged, 10);
    EXPECT_LT(staged, 30);
    EXPECT_EQ(turns.round(), staged);
    EXPECT_EQ(maps_now(communicator), before);
  });
}

// A part of memory of several chunks is described as other memory. It has not been freed for that.
TEST_F(Memory, of_several_chunks_stays_mapped) {
  virtual_world::WorldOptions options = pushed_to_memory();
  options.settings.device_staged_uses = 0;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(9000), {HOST_DEVICE_CHUNKS, HOST_DEVICE_CHUNKS});
    (void)one.call(1);
    const int before = maps_now(communicator);
    for (std::uint64_t call = 2; call <= 60; ++call) (void)one.call(call);
    EXPECT_EQ(maps_now(communicator), before);
  });
}

// No more memory of one owner is mapped between calls than the setting says, and nothing that its owner has freed.
TEST_F(Memory, is_let_go_of) {
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    virtual_world::WorldOptions options = pushed_to_memory();
    options.settings.device_staged_uses = 0;
    options.settings.device_mapped_bytes = most;
    virtual_world::world({0, 0, 0}, options, [most](Communicator& communicator) {
      const int own = pieces_now(communicator);
      DeviceCase kept(communicator, alltoall_shape(100), {});
      for (std::uint64_t call = 1; call <= 4; ++call) (void)kept.call(call);
      const int mapped = most == 0 ? 0 : 3 * 2;
      EXPECT_EQ(pieces_now(communicator), own + 3 * 2 + mapped);
      {
        DeviceCase large(communicator, alltoall_shape(70000), {});
        (void)large.call(1);
        EXPECT_EQ(pieces_now(communicator), own + 3 * 4 + 2 * mapped);
      }
      for (std::uint64_t call = 1; call <= 4; ++call) (void)kept.call(call);
      EXPECT_EQ(pieces_now(communicator), own + 3 * 2 + mapped);
    });
  }
}

// An arena is larger than all that may stay mapped. It stays so all the same, and is let go of without a call when the program frees it.
TEST_F(Memory, of_an_arena_stays_mapped_until_it_is_freed) {
  virtual_world::WorldOptions options = pushed_to_memory();
  options.settings.device_staged_uses = 0;
  options.settings.device_mapped_bytes = std::uint64_t{1} << 20;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    for (int again = 0; again < 2; ++again) {
      constexpr std::size_t kBlock = 5000;
      const int before = pieces_now(communicator);
      auto* const arena = static_cast<std::byte*>(host_device_alloc(freed_memory::kLargeBytes, HOST_DEVICE_PLAIN));
      ASSERT_NE(arena, nullptr);
      int maps = 0;
      for (std::uint64_t call = 1; call <= 20; ++call) {
        std::byte* const send = arena + call * 100'000;
        std::byte* const recv = send + (freed_memory::kLargeBytes >> 1);
        DeviceCase text(communicator, alltoall_shape(kBlock), {});
        text.fill(call, static_cast<std::byte*>(host_device_touchable(send)));
        DeviceBuffers buffers({send, recv}, kBlock * 3);
        ASSERT_TRUE(run_collective(communicator.slot(), alltoall_shape(kBlock), buffers).status.ok());
        EXPECT_EQ(text.wrong(call, static_cast<std::byte*>(host_device_touchable(recv))), "") << call;
        if (call == 1) maps = maps_now(communicator);
      }
      EXPECT_EQ(maps_now(communicator), maps) << "mapped again";
      EXPECT_GT(pieces_now(communicator), before + 3) << "nothing was mapped";
      host_device_free(arena);
      freed_memory::await_unmapped();
      for (int looks = 0; pieces_now(communicator) > before && looks < 5000; ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(pieces_now(communicator), before);
    }
  });
}

TEST_F(Memory, of_ours_is_given_back_when_it_is_not_needed) {
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    DeviceCase kept(communicator, alltoall_shape(100), {});
    (void)kept.call(1);
    EXPECT_NE(communicator.slot().devices->staging(MappedSide::recv), nullptr);
    for (std::uint64_t call = 2; call <= 100; ++call) (void)kept.call(call);
    EXPECT_EQ(communicator.slot().devices->staging(MappedSide::recv), nullptr);
    EXPECT_EQ(pieces_now(communicator), 3 * 2 + 3 * 2) << "all of it, on all ranks";
    DeviceCase again(communicator, alltoall_shape(100), {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE});
    (void)again.call(1);
  });
}

// Calls in streams keep their memory mapped, and take nothing from others. When they have too much, they are refused, until
// the program frees some.
TEST_F(Memory, of_many_stream_calls_is_kept) {
  virtual_world::WorldOptions options = pushed_to_memory();
  options.settings.device_buffers = 256;
  virtual_world::world({0, 0}, options, [](Communicator& communicator) {
    void* const stream = host_device_open_stream();
    const auto call_all = [&](int count) {
      int refused = 0;
      std::vector<std::unique_ptr<DeviceCase>> cases;
      for (int i = 0; i < count; ++i) {
        cases.push_back(std::make_unique<DeviceCase>(communicator, alltoall_shape(5000), Kinds{}));
        cases.back()->fill(static_cast<std::uint64_t>(i), cases.back()->send().touch());
        refused += run_on_stream(communicator, alltoall_shape(5000), cases.back()->buffers(), stream).ok() ? 0 : 1;
      }
      host_device_wait(stream);
      for (int i = 0; i + refused < count; ++i) {
        EXPECT_EQ(cases[static_cast<std::size_t>(i)]->wrong(static_cast<std::uint64_t>(i), cases[static_cast<std::size_t>(i)]->recv().touch()), "");
      }
      DeviceCase beside(communicator, alltoall_shape(5000), {});
      for (std::uint64_t call = 1; call <= 4; ++call) EXPECT_STREQ(beside.call(call).plan->algorithm, "ipc_kernel_push");
      EXPECT_TRUE(communicator.slot().control->barrier().ok());
      return refused;
    };
    EXPECT_EQ(call_all(60), 0);
    EXPECT_GT(call_all(200), 0);
    EXPECT_EQ(call_all(60), 0);
    host_device_close_stream(stream);
  });
}

// A thousand pairs of buffers live at the same time are mapped once, in a stream's order, too.
TEST_F(Memory, of_a_thousand_stream_calls_is_kept) {
  virtual_world::world({0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    void* const stream = host_device_open_stream();
    std::vector<std::unique_ptr<DeviceCase>> cases;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      cases.push_back(std::make_unique<DeviceCase>(communicator, alltoall_shape(700), Kinds{}));
      cases.back()->fill(i, cases.back()->send().touch());
      ASSERT_TRUE(run_on_stream(communicator, alltoall_shape(700), cases.back()->buffers(), stream).ok()) << i;
    }
    host_device_wait(stream);
    for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(cases[i]->wrong(i, cases[i]->recv().touch()), "") << i;
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    const int before = maps_now(communicator);
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(run_on_stream(communicator, alltoall_shape(700), cases[i]->buffers(), stream).ok()) << i;
    host_device_wait(stream);
    EXPECT_EQ(maps_now(communicator), before);
    host_device_close_stream(stream);
  });
}

// A device without room for a queue may have some later.
TEST_F(Memory, that_was_short_is_asked_for_again) {
  set({.refuse_queues = 4});
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(5000), {});
    EXPECT_STRNE(one.call(1).plan->algorithm, "ipc_kernel_push");
    for (std::uint64_t call = 2; call <= 20; ++call) (void)one.call(call);
    EXPECT_STREQ(one.call(21).plan->algorithm, "ipc_kernel_push");
  });
}

// Peers that could map nothing at all may map some later, too.
TEST_F(Memory, that_nobody_could_map_is_tried_again) {
  set({.refuse_all_maps = 1});
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(5000), {HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE});
    for (std::uint64_t call = 1; call <= 4; ++call) EXPECT_STRNE(one.call(call).plan->algorithm, "ipc_kernel_push");
    EXPECT_FALSE(communicator.slot().devices->active());
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    if (communicator.topology.rank == 0) set({});
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    for (std::uint64_t call = 5; call <= 70; ++call) (void)one.call(call);
    EXPECT_STREQ(one.call(71).plan->algorithm, "ipc_kernel_push");
  });
}

// After a reset the queue is gone, and so is memory of ours. Calls are right, by way of host memory.
TEST_F(Memory, of_a_device_that_was_reset) {
  virtual_world::world({0, 0, 0}, pushed_to_memory(), [](Communicator& communicator) {
    DeviceCase one(communicator, alltoall_shape(5000), {});
    EXPECT_STREQ(one.call(1).plan->algorithm, "ipc_kernel_push");
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    if (communicator.topology.rank == 0) set({.generation = 1});
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
    for (std::uint64_t call = 2; call <= 4; ++call) EXPECT_STRNE(one.call(call).plan->algorithm, "ipc_kernel_push");
    EXPECT_TRUE(communicator.slot().control->barrier().ok());
  });
}

}  // namespace
}  // namespace crossrail::tests
