// These tests compare alltoallv on device memory with the definition, with ranks as threads.

#include "tests/collectives/device_vector_case.h"
#include "tests/collectives/phases.h"
#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRepetitions = 3;
#else
constexpr int kRepetitions = 14;
#endif
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};
constexpr const char* kRow = "ipc_push";

class VectorsOnDevices : public testing::Test, protected WithHostDevice {};

// Runs calls of all kinds, with fresh memory each. `check` sees what each came to. The first one has bytes on all ranks.
template <class Check>
void all_counts(Communicator& communicator, Kinds kinds, Check check) {
  std::uint64_t call = 0;
  for (const Counts counts : kCounts) {
    for (int again = 0; again < kRepetitions; ++again) {
      DeviceVectorCase one(communicator, {counts, ++call, again % 4 == 3}, kinds);
      const Outcome outcome = one.call();
      SCOPED_TRACE(one.text());
      if (outcome.status.ok()) check(*outcome.plan, again % 4 == 3);
    }
  }
}

void all_on_devices(Communicator& communicator) {
  all_counts(communicator, {}, [](const Plan& plan, bool) { EXPECT_STREQ(plan.algorithm, kRow); });
}

bool staged(Communicator& communicator, MappedSide side) { return communicator.slot().devices->staged(side); }
bool any_received(Communicator& communicator) {
  bool any = false;
  for (int peer = 0; peer < communicator.topology.size; ++peer) {
    any = any || communicator.slot().devices->place(communicator.topology.rank, peer).received > 0;
  }
  return any;
}

TEST_F(VectorsOnDevices, agree_with_the_definition) {
  for (const Nodes& nodes : kWorlds) virtual_world::world(nodes, mapped_at_once(), all_on_devices);
}

TEST_F(VectorsOnDevices, wait_for_work_that_is_late) {
  set({.delay_us = 300});
  virtual_world::world({0, 0, 0, 0}, mapped_at_once(), all_on_devices);
}

TEST_F(VectorsOnDevices, are_right_where_ranks_share_a_device) {
  on_shared_devices(mapped_at_once(), [](Communicator& communicator, Kinds kinds) {
    all_counts(communicator, kinds, [&](const Plan& plan, bool) { EXPECT_STREQ(plan.algorithm, kRow); });
  });
}

TEST_F(VectorsOnDevices, go_by_either_engine) {
  for (const char* wanted : {"ipc_push memcpy_threshold=1", "ipc_push memcpy_threshold=9000", "ipc_push memcpy_threshold=1G"}) {
    virtual_world::WorldOptions options = mapped_at_once();
    options.settings.alltoallv = wanted;
    virtual_world::world({0, 0, 0, 0}, options, all_on_devices);
  }
}

// Memory is staged at its first uses.
TEST_F(VectorsOnDevices, are_staged_before_they_are_mapped) {
  virtual_world::world({0, 0, 0, 0}, {}, [](Communicator& communicator) {
    all_counts(communicator, {}, [&](const Plan& plan, bool) { EXPECT_STREQ(plan.algorithm, kRow); });
    EXPECT_FALSE(staged(communicator, MappedSide::send));
  });
}

TEST_F(VectorsOnDevices, are_staged_where_they_cannot_be_mapped_in_rounds_where_there_is_little_room) {
  for (const std::uint64_t scratch : {1024u, 20'000u, 1u << 25}) {
    virtual_world::WorldOptions options = mapped_at_once();
    options.settings.device_scratch_bytes = scratch;
    virtual_world::world({0, 0, 0, 0}, options, [](Communicator& communicator) {
      const bool odd = communicator.topology.rank % 2 != 0;
      all_counts(communicator, {HOST_DEVICE_UNSHAREABLE, odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN}, [&](const Plan& plan, bool in_place) {
        EXPECT_STREQ(plan.algorithm, kRow);
        EXPECT_EQ(staged(communicator, MappedSide::recv), any_received(communicator) && (odd || in_place));
      });
    });
  }
}

// What is neither mapped nor staged for want of memory goes through the host, on all ranks alike.
TEST_F(VectorsOnDevices, go_through_host_memory_where_there_is_none_of_ours) {
  virtual_world::WorldOptions options = mapped_at_once();
  options.settings.device_scratch_bytes = 0;
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    const bool odd = communicator.topology.rank == 1;
    all_counts(communicator, {HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN}, [](const Plan&, bool) {});
    DeviceVectorCase one(communicator, {Counts::uniform, 1}, {HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN});
    EXPECT_STREQ(one.call().plan->algorithm, "node_shared");
    DeviceVectorCase other(communicator, {Counts::uniform, 1}, {});
    EXPECT_STREQ(other.call().plan->algorithm, kRow);
  });
}

TEST_F(VectorsOnDevices, are_right_where_mapping_fails) {
  for (const int all : {0, 1}) {
    set({.refuse_maps = 1 - all, .refuse_all_maps = all});
    virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) { all_counts(communicator, {}, [](const Plan&, bool) {}); });
  }
}

TEST_F(VectorsOnDevices, of_managed_memory_go_through_the_host) {
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    all_counts(communicator, {HOST_DEVICE_MANAGED, HOST_DEVICE_PLAIN}, [](const Plan&, bool) {});
  });
}

// Nobody knows on which device a call without any bytes is, until one has had some.
TEST_F(VectorsOnDevices, need_no_bytes) {
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    for (const bool before : {true, false}) {
      DeviceVectorCase none(communicator, {Counts::empty, 1}, {});
      EXPECT_EQ(std::string(none.call().plan->algorithm) == kRow, !before);
      DeviceVectorCase some(communicator, {Counts::uniform, 2}, {});
      EXPECT_STREQ(some.call().plan->algorithm, kRow);
    }
  });
}

// A sender has less than there is room for. What it has comes, and the rest stays as it was, both where memory is mapped and where it is staged.
TEST_F(VectorsOnDevices, take_less_than_there_is_room_for) {
  for (const std::uint64_t uses : {0u, 1000u}) {
    virtual_world::WorldOptions options = mapped_at_once();
    options.settings.device_staged_uses = uses;
    virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
      DeviceVectorCase one(communicator, {Counts::uniform, 5}, {});
      if (communicator.topology.rank == 1) one.out[2].bytes -= 100;
      const Outcome outcome = run_collective(communicator.slot(), kVectorShape, one.buffers());
      EXPECT_TRUE(outcome.status.ok()) << outcome.status.what;
      EXPECT_STREQ(outcome.plan->algorithm, kRow);
      const bool less = communicator.topology.rank == 2;
      EXPECT_EQ(one.wrong([&](int peer) { return one.in[static_cast<std::size_t>(peer)].bytes - (less && peer == 1 ? 100 : 0); }), "");
    });
  }
}

// A rank that launches for others sees it as they do.
TEST_F(VectorsOnDevices, end_with_an_error_where_more_is_sent) {
  for (const int shared : {0, 1}) {
    set({.devices = shared});
    virtual_world::world({0, 0, 0}, mapped_at_once(), [shared](Communicator& communicator) {
      DeviceVectorCase right(communicator, {Counts::uniform, 5}, {});
      (void)right.call();
      DeviceVectorCase one(communicator, {Counts::uniform, 5}, {});
      if (communicator.topology.rank == 2) one.in[1].bytes -= 100;
      const Outcome outcome = run_collective(communicator.slot(), kVectorShape, one.buffers());
      EXPECT_FALSE(outcome.status.ok());
      if (communicator.topology.rank != 0 || shared != 0) {
        EXPECT_NE(std::string(outcome.status.what).find("rank 1 sends"), std::string::npos) << outcome.status.what;
      }
    });
  }
}

// Some ranks pass host memory at times.
TEST_F(VectorsOnDevices, are_not_needed_on_all_ranks) {
  virtual_world::world({0, 0, 0}, mapped_at_once(), [](Communicator& communicator) {
    for (std::uint64_t call = 1; call < 40; ++call) {
      if (call % 3 == 0 && communicator.topology.rank == static_cast<int>(call % 2)) {
        EXPECT_TRUE(checked_vector_call(communicator, Counts::random, call));
      } else {
        DeviceVectorCase one(communicator, {Counts::random, call}, {});
        EXPECT_EQ(std::string(one.call().plan->algorithm) == kRow, call % 3 != 0);
      }
    }
  });
}

struct PendingVector : PendingCall {
  PendingVector(Slot& its_slot, const VectorCallKind& kind) : memory(its_slot.owner, kind, {}) {
    slot = &its_slot;
    shape = kVectorShape;
    user = &memory.buffers();
    ended = [](PendingCall&) {};
  }
  DeviceVectorCase memory;
};

TEST_F(VectorsOnDevices, are_right_while_others_are_pending) {
  for (const unsigned delay_us : {0u, 200u}) {
    set({.delay_us = delay_us});
    virtual_world::WorldOptions options = mapped_at_once();
    options.suspend_seed = 5;
    pending_world({0, 0, 0}, options, [](PendingRank& mine) {
      std::vector<std::unique_ptr<PendingVector>> calls;
      for (std::uint64_t call = 1; call <= 24; ++call) {
        calls.push_back(std::make_unique<PendingVector>(*mine.communicator.next_pending_slot(), VectorCallKind{kCounts[call % std::size(kCounts)], call, call % 5 == 0}));
        mine.calls.start(*calls.back());
        if (call % 6 == 0) (void)DeviceVectorCase(mine.communicator, {Counts::random, call}, {}).call();
      }
      advance_all(mine.calls);
      Code worst = Code::ok;  // A rank that ends is lost for those whose own device is late.
      EXPECT_TRUE(mine.communicator.slot().links->agree(Code::ok, worst).ok());
      for (const auto& one : calls) {
        EXPECT_EQ(one->code, Code::ok) << one->what;
        EXPECT_EQ(one->memory.wrong(), "") << one->memory.text();
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
