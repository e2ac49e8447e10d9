#include "mpi/requests/request_table.h"

#include <memory>
#include <mutex>
#include <vector>

#include "mpi/library/arguments.h"

namespace crossrail::mpi {
namespace {

// No handle has these values.
constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kGone = ~std::uint64_t{0};  // The entry was taken once, so searches for other requests go on behind it.
constexpr int kFirstBits = 8;

struct Entry {
  std::atomic<std::uint64_t> handle{kFree};
  std::atomic<LiveRequest*> live{nullptr};
};

// The table uses open addressing. Its number of entries is a power of two, and at most half of them are taken or gone.
struct RequestTable {
  explicit RequestTable(int its_bits) : bits(its_bits), entries(std::size_t{1} << its_bits) {}
  std::size_t first(std::uint64_t handle) const { return (handle * 0x9e3779b97f4a7c15u) >> (64 - bits); }
  std::size_t next(std::size_t at) const { return (at + 1) & (entries.size() - 1); }
  int bits;
  std::size_t used = 0;  // It counts entries that are taken or gone.
  std::vector<Entry> entries;
};

std::atomic<RequestTable*> table{nullptr};
std::atomic<std::size_t> live{0};
std::mutex table_mutex;  // Every writer holds it.

std::uint64_t handle_of(MPI_Request request) { return static_cast<std::uint64_t>(word_of(request)); }

bool is_taken(std::uint64_t handle) { return handle != kFree && handle != kGone; }

void insert(RequestTable& into, std::uint64_t handle, LiveRequest* its) {
  std::size_t at = into.first(handle);
  while (is_taken(into.entries[at].handle.load(std::memory_order_relaxed))) at = into.next(at);
  Entry& entry = into.entries[at];
  into.used += entry.handle.load(std::memory_order_relaxed) == kFree ? 1 : 0;
  entry.live.store(its, std::memory_order_relaxed);
  entry.handle.store(handle, std::memory_order_release);
}

// Earlier tables are kept, since other threads may be searching them. Together they are as large as the last one.
RequestTable& larger(const RequestTable* before) {
  static auto& all = *new std::vector<std::unique_ptr<RequestTable>>;
  all.push_back(std::make_unique<RequestTable>(before == nullptr ? kFirstBits : before->bits + 1));
  RequestTable& made = *all.back();
  for (std::size_t at = 0; before != nullptr && at < before->entries.size(); ++at) {
    const Entry& entry = before->entries[at];
    const std::uint64_t handle = entry.handle.load(std::memory_order_relaxed);
    if (is_taken(handle)) insert(made, handle, entry.live.load(std::memory_order_relaxed));
  }
  table.store(&made, std::memory_order_release);
  return made;
}

Entry* find_in(RequestTable& all, std::uint64_t handle) {
  for (std::size_t at = all.first(handle);; at = all.next(at)) {
    Entry& entry = all.entries[at];
    const std::uint64_t seen = entry.handle.load(std::memory_order_acquire);
    if (seen == handle) return &entry;
    if (seen == kFree) return nullptr;
  }
}

}  // namespace

void remember_request(LiveRequest& its) {
  const std::lock_guard lock(table_mutex);
  RequestTable* all = table.load(std::memory_order_relaxed);
  if (all == nullptr || 2 * all->used >= all->entries.size()) all = &larger(all);
  insert(*all, handle_of(its.request), &its);
  live.store(live.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void forget_request(const LiveRequest& its) {
  const std::lock_guard lock(table_mutex);
  RequestTable& all = *table.load(std::memory_order_relaxed);
  Entry* const entry = find_in(all, handle_of(its.request));
  const auto at = static_cast<std::size_t>(entry - all.entries.data());
  live.store(live.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  entry->handle.store(kGone, std::memory_order_release);
  // No search goes on behind this entry, so it becomes free again, and so do the gone ones before it.
  if (all.entries[all.next(at)].handle.load(std::memory_order_relaxed) != kFree) return;
  for (std::size_t back = at; all.entries[back].handle.load(std::memory_order_relaxed) == kGone; back = (back - 1) & (all.entries.size() - 1)) {
    all.entries[back].handle.store(kFree, std::memory_order_release);
    --all.used;
  }
}

LiveRequest* find_live_request(MPI_Request request) {
  if (!any_requests()) return nullptr;
  Entry* const entry = find_in(*table.load(std::memory_order_acquire), handle_of(request));
  return entry == nullptr ? nullptr : entry->live.load(std::memory_order_relaxed);
}

OurRequest* find_request(MPI_Request request) {
  LiveRequest* const found = find_live_request(request);
  return found == nullptr ? nullptr : found->call.load(std::memory_order_acquire);
}

bool any_requests() { return live.load(std::memory_order_acquire) != 0; }

}  // namespace crossrail::mpi
