// What crossrail remembers of NCCL's communicators.
//
// A communicator is known from the time on when NCCL has made it. Then crossrail opens one of its own for it, so that no later call waits for other
// ranks on the host. If NCCL is not done with it yet (communicators that are not blocking), or that fails, all ranks try at their calls 1, 2, 4, 8,
// ... that crossrail might handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "comm/communicator.h"
#include "nccl/api.h"
#include "nccl/rendezvous.h"
#include "nccl/stream_turns.h"

namespace crossrail::nccl {

struct Record {
  Comm handle = nullptr;
  Key key;
  int rank = -1, size = 0;       // They are -1 and 0 until NCCL tells them.
  std::uint64_t children = 0;    // So many communicators have been made from this one.
  int most_ctas = 0;             // Its kernels may have so many CTAs; 0 stands for any number.
  std::atomic<bool> aborted{false};
  std::atomic<bool> open{false};  // Calls in a stream's order can be handled. Only then may a thread use `communicator` without the mutex.

  std::mutex mutex;  // It guards all that follows. Calls hold it.
  std::unique_ptr<Rendezvous> rendezvous;  // It is null once crossrail's communicator has been made, or cannot be.
  std::unique_ptr<Communicator> communicator;
  std::uint64_t calls = 0;   // It counts those that crossrail could handle.
  bool left_messages = false;  // Some sends or receives have been left to NCCL.
  Result error = Result::success;
  StreamTurns turns;
};

// All ranks have the communicators of a group in this order, and those that crossrail does not know last.
inline bool comes_before(const Record* one, const Record* other) {
  if (one == nullptr || other == nullptr) return one != nullptr && other == nullptr;
  return one->key < other->key;
}

// Returns null for a communicator that crossrail does not know. Records that have been added stay where they are as long as the process lives.
Record* find(Comm comm);
// Asks NCCL for the rank and the size of a communicator that are not known yet. It returns false if NCCL does not tell them.
bool knows_its_place(Record& record);
// Adds a communicator that NCCL has made, with what is known of it.
Record& add(Comm comm, std::unique_ptr<Record> made);
// The program is about to end the communicator. With `abort`, kernels that wait for other ranks give up.
void remove(Comm comm, bool abort);

}  // namespace crossrail::nccl
