// The collectives of NCCL that crossrail may handle.
#pragma once

#include <cstdint>
#include <span>

#include "comm/collective.h"
#include "nccl/communicators.h"

namespace crossrail::nccl {

// These are a call's arguments, as the program gave them.
struct Call {
  Collective collective;
  const void* send;
  void* recv;
  std::size_t count;
  Type type;
  Operation operation;  // Only reductions have one.
  Comm comm;
  Stream stream;
};

// This is why crossrail leaves a call to NCCL.
enum class Why { wrong, unopened, captured, kind, meets, message, simulated };
inline constexpr int kWhys = static_cast<int>(Why::simulated) + 1;
const char* text_of(Why why);

// Gives a call to NCCL.
Result leave(const Call& call, Why why);
// Makes a call that is in no group.
Result make(const Call& call);
// Makes the calls of a group that NCCL has still open. All ranks come to the same order of those that crossrail handles, whatever the order in which
// their programs have named different communicators.
Result make_all(std::span<Call> calls);

// These count the calls of this process.
struct Counts {
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> left_by[kWhys] = {};

  std::uint64_t left() const;
  void leave(Why why) { left_by[static_cast<int>(why)].fetch_add(1, std::memory_order_relaxed); }
};
Counts& counts();

}  // namespace crossrail::nccl
