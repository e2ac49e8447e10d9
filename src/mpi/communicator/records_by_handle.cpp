#include "mpi/communicator/records_by_handle.h"

#include <atomic>
#include <map>
#include <mutex>

namespace crossrail::mpi {
namespace {

struct Entry {
  CommunicatorRecord* record;
  KeptBy kept_by;
};

struct Records {
  std::mutex mutex;
  std::map<MPI_Comm, Entry> entries;
  std::atomic<int> without_attribute{0};
};

Records& records() {
  static auto& all = *new Records;  // outlives every static object
  return all;
}

CommunicatorRecord* find(MPI_Comm comm, bool any) {
  const std::lock_guard lock(records().mutex);
  const auto at = records().entries.find(comm);
  return at == records().entries.end() || (!any && at->second.kept_by != KeptBy::handle) ? nullptr : at->second.record;
}

}  // namespace

CommunicatorRecord* record_by_handle(MPI_Comm comm) { return find(comm, true); }

CommunicatorRecord* record_without_attribute(MPI_Comm comm) {
  return records().without_attribute.load(std::memory_order_relaxed) == 0 ? nullptr : find(comm, false);
}

void remember_record(MPI_Comm comm, CommunicatorRecord& record, KeptBy kept_by) {
  const std::lock_guard lock(records().mutex);
  records().entries.insert_or_assign(comm, Entry{&record, kept_by});
  if (kept_by == KeptBy::handle) records().without_attribute.fetch_add(1);
}

void forget_record(MPI_Comm comm) {
  const std::lock_guard lock(records().mutex);
  const auto at = records().entries.find(comm);
  if (at == records().entries.end()) return;
  if (at->second.kept_by == KeptBy::handle) records().without_attribute.fetch_sub(1);
  records().entries.erase(at);
}

}  // namespace crossrail::mpi
