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

// A rank whose kernels are done has done its part, and others go on without it. One that ends before is missed. The mutex of a record is held.
bool leaves_in_order(Record& record) {
  if (!record.turns.is_over()) return false;
  if (record.communicator != nullptr && !record.aborted) record.communicator->slot().devices->queue().leave();
  return true;
}

// Kernels may still be waiting for other ranks when the program ends a communicator, and nobody waits for them. So what they use goes when they have
// ended. The mutex of a record is held.
bool close_if_over(Record& record) {
  if (!leaves_in_order(record)) return false;
  record.communicator.reset();
  record.turns.close();
  return true;
}

// These are ended communicators whose kernels may still run.
struct Ended {
  std::mutex mutex;
  std::vector<Record*> records;
};
Ended& ended() {
  static Ended& all = *new Ended;
  return all;
}

void close_what_is_over(Record* fresh) {
  const std::lock_guard lock(ended().mutex);
  if (fresh != nullptr) ended().records.push_back(fresh);
  std::erase_if(ended().records, [](Record* record) {
    const std::lock_guard held(record->mutex);
    return close_if_over(*record);
  });
}

void leave_one(Record& record) {
  const std::unique_lock held(record.mutex, std::try_to_lock);
  if (held.owns_lock()) (void)leaves_in_order(record);
}

// The process ends in order. Other threads of it may be anywhere.
void leave_all(int status, void*) {
  if (status != 0) return;
  if (const std::shared_lock lock(all().mutex, std::try_to_lock); lock.owns_lock()) {
    for (const auto& [comm, record] : all().records) leave_one(*record);
  }
  if (const std::unique_lock lock(ended().mutex, std::try_to_lock); lock.owns_lock()) {
    for (Record* const record : ended().records) leave_one(*record);
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
    record->open = false;
    record->rendezvous.reset();
  }
  close_what_is_over(record);
}

}  // namespace crossrail::nccl
