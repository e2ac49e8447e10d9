#include "nccl/communicators.h"

#include <cstdlib>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nccl/real.h"

namespace crossrail::nccl {
namespace {

struct All {
  std::shared_mutex mutex;
  std::unordered_map<Comm, Record*> records;
  std::atomic<std::uint64_t> generation{0};  // It grows with every change.
};
All& all() {
  static All& one = *new All;
  return one;
}

// Programs mostly use the same communicator again.
struct Last {
  Comm comm = nullptr;
  std::uint64_t generation = 0;
  Record* record = nullptr;
};
thread_local Last last;

// Kernels may still be waiting for other ranks when the program ends a communicator, and nobody waits for them. So what they use goes when they have
// ended. The mutex of a record is held.
bool close_if_over(Record& record) {
  if (!record.turns.is_over()) return false;
  record.communicator.reset();
  record.turns.close();
  return true;
}

// These are ended communicators whose kernels may still run.
void close_what_is_over(Record* fresh) {
  static std::mutex& mutex = *new std::mutex;
  static std::vector<Record*>& ended = *new std::vector<Record*>;
  const std::lock_guard lock(mutex);
  if (fresh != nullptr) ended.push_back(fresh);
  std::erase_if(ended, [](Record* record) {
    const std::lock_guard held(record->mutex);
    return close_if_over(*record);
  });
}

// A process that ends in order has done its part, and others may go on without it.
void leave_all(int status, void*) {
  const std::shared_lock lock(all().mutex, std::try_to_lock);
  if (status != 0 || !lock.owns_lock()) return;
  for (const auto& [comm, record] : all().records) {
    if (record->open) record->communicator->slot().devices->queue().leave();
  }
}

}  // namespace

Record* find(Comm comm) {
  const std::uint64_t generation = all().generation.load(std::memory_order_acquire);
  if (last.comm == comm && last.generation == generation && last.record != nullptr) return last.record;
  const std::shared_lock lock(all().mutex);
  const auto found = all().records.find(comm);
  last = {comm, generation, found == all().records.end() ? nullptr : found->second};
  return last.record;
}

bool knows_its_place(Record& record) {
  if (record.size == 0 && real().ncclCommCount(record.handle, &record.size) != Result::success) return false;
  return record.rank >= 0 || real().ncclCommUserRank(record.handle, &record.rank) == Result::success;
}

// Records are not deleted: a thread may be in a call on a communicator that another thread aborts.
Record& add(Comm comm, std::unique_ptr<Record> made) {
  static const int told_at_exit = on_exit(leave_all, nullptr);
  (void)told_at_exit;
  close_what_is_over(nullptr);
  Record& record = *made.release();
  record.handle = comm;
  const std::unique_lock lock(all().mutex);
  all().records[comm] = &record;
  all().generation.fetch_add(1, std::memory_order_release);
  return record;
}

void remove(Comm comm, bool abort) {
  Record* record = nullptr;
  {
    const std::unique_lock lock(all().mutex);
    const auto found = all().records.find(comm);
    if (found == all().records.end()) return;
    record = found->second;
    all().records.erase(found);
    all().generation.fetch_add(1, std::memory_order_release);
  }
  if (abort) {
    record->aborted = true;
    if (record->open) record->communicator->slot().devices->queue().abort_waits();
  }
  {
    const std::lock_guard lock(record->mutex);
    if (record->open && abort) record->communicator->slot().devices->queue().abort_waits();  // It may have been opened meanwhile.
    if (record->open && !abort) record->communicator->slot().devices->queue().leave();
    record->open = false;
    record->rendezvous.reset();
  }
  close_what_is_over(record);
}

}  // namespace crossrail::nccl
