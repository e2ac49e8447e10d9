// Ranks are threads, and each has its own pending calls. Blocking waits advance them, as they do in the progress of an MPI library.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/pending_calls.h"
#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/phases.h"
#include "virtual_world/thread_world.h"

namespace crossrail::tests {

// This is a pending call with its own buffers, which knows whether it came out right.
class Outstanding {
 public:
  virtual ~Outstanding() = default;
  Outstanding() = default;
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;
  virtual std::string wrong() = 0;
  virtual void overwrite_send() = 0;
  PendingCall& call() { return call_; }
  bool has_ended() const { return call_.has_ended; }
  // It is told in `ended`, before anything else happens.
  std::function<void(Outstanding&)> then;

 protected:
  void aim(Slot& slot, const Shape& shape, UserBuffers& user) {
    call_.slot = &slot;
    call_.shape = shape;
    call_.user = &user;
    call_.messages = slot.owner.slot().links->messages_open();
    call_.whole = this;
    call_.ended = [](PendingCall& ended) {
      auto& told = static_cast<Told&>(ended);
      EXPECT_FALSE(told.has_ended) << "told twice";
      told.has_ended = true;
      if (told.code == Code::ok) told.whole->overwrite_send();
      if (told.whole->then != nullptr) told.whole->then(*told.whole);
    };
  }

 private:
  struct Told : PendingCall {
    Outstanding* whole = nullptr;
    bool has_ended = false;
  } call_;
};

template <class Case>
class OutstandingCase final : public Outstanding {
 public:
  template <class... Arguments>
  OutstandingCase(Slot& slot, const Shape& shape, const Arguments&... arguments)
      : case_(slot.owner.topology, arguments...),
        user_(case_.buffers(), shape.block_bytes * static_cast<std::size_t>(slot.owner.topology.size)) {
    aim(slot, shape, user_);
  }
  std::string wrong() override { return case_.wrong(); }
  void overwrite_send() override { case_.overwrite_send(); }

 private:
  Case case_;
  PlainBuffers user_;
};

using OutstandingCall = std::unique_ptr<Outstanding>;

inline OutstandingCall pending_alltoall(Slot& slot, const Shape& shape, std::uint64_t number) {
  return std::make_unique<OutstandingCase<AlltoallCase>>(slot, shape, shape, number);
}
inline OutstandingCall pending_alltoallv(Slot& slot, Counts counts, std::uint64_t number) {
  return std::make_unique<OutstandingCase<AlltoallvCase>>(slot, kVectorShape, counts, number);
}

template <class Done>
void advance_until(PendingCalls& calls, Done done) {
  wait_until(done, [&] { (void)calls.advance(); });
}
inline void advance_all(PendingCalls& calls) {
  advance_until(calls, [&] { return !calls.any(); });
}

inline virtual_world::WorldOptions impatient(const char* alltoall, const char* alltoallv) {
  virtual_world::WorldOptions options;
  options.settings.patience_ms = 40;
  options.settings.devices = 0;  // Otherwise all ranks meet in some calls, and none goes ahead there.
  options.settings.alltoall = alltoall;
  options.settings.alltoallv = alltoallv;
  return options;
}

struct PendingRank {
  Communicator& communicator;
  PendingCalls& calls;
  MeetingPoint& all;
};

// Runs `body` on every rank, whose links can send messages from the start.
inline void pending_world(const Nodes& nodes, virtual_world::WorldOptions options, const std::function<void(PendingRank&)>& body) {
  std::vector<PendingCalls> calls(nodes.size());
  MeetingPoint all(nodes.size());
  options.links.meanwhile = [&calls](int rank) { (void)calls[static_cast<std::size_t>(rank)].advance(); };
  virtual_world::world(nodes, options, [&](Communicator& communicator) {
    EXPECT_TRUE(communicator.slot().links->open_messages().ok());
    PendingRank mine{communicator, calls[static_cast<std::size_t>(communicator.topology.rank)], all};
    body(mine);
    EXPECT_FALSE(mine.calls.any());
  });
}

using Calls = std::vector<OutstandingCall>;

inline virtual_world::WorldOptions with_slots(std::uint64_t slots) {
  virtual_world::WorldOptions options;
  options.settings.slots = slots;
  options.settings.patience_ms = 40;
  options.settings.alltoall = "node_shared";
  return options;
}

// What a lone rank has left of the tables' rows is native.
inline virtual_world::WorldOptions alone() {
  virtual_world::WorldOptions options = with_slots(4);
  options.settings.alltoall = "linear";
  return options;
}

inline void expect_right(const Calls& calls) {
  for (std::size_t number = 0; number < calls.size(); ++number) {
    EXPECT_TRUE(calls[number]->has_ended()) << number;
    EXPECT_EQ(calls[number]->call().code, Code::ok) << number << ": " << calls[number]->call().what;
    EXPECT_EQ(calls[number]->wrong(), "") << number;
  }
}

}  // namespace crossrail::tests
