#include "mpi/communicator/notice_box.h"

#include <sched.h>

#include "mpi/library/fault_tolerance.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr int kNoticeTag = 1;  // No other kind of message has this tag (mpi_links.cpp).

}  // namespace

void NoticeBox::expect(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  (void)kept_[key];
}

void NoticeBox::forget(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  (void)kept_.erase(key);
}

void NoticeBox::keep(const Notice& notice) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = kept_.find(notice.to);
    if (place != kept_.end()) return place->second.push_back(notice);
  }
  if (notice.code != 0 && late_error_) late_error_(notice.to);
}

// After a process has failed, MPI refuses to probe any source until the failure is acknowledged.
bool NoticeBox::arrived() {
  int is_there = 0;
  const auto probe = [&] { return pmpi().Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_, &is_there, MPI_STATUS_IGNORE) == MPI_SUCCESS; };
  return (probe() || (acknowledge_failures(comm_) && probe())) && is_there != 0;
}

void NoticeBox::fetch() {
  if (fetching_.test_and_set(std::memory_order_acquire)) return;
  Notice notice{};
  while (arrived()) {
    if (pmpi().Recv(&notice, sizeof notice, handles().byte, MPI_ANY_SOURCE, kNoticeTag, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    keep(notice);
  }
  fetching_.clear(std::memory_order_release);
}

void NoticeBox::end() {
  while (fetching_.test_and_set(std::memory_order_acquire)) sched_yield();
}

bool NoticeBox::take(std::uint64_t key, Notice& notice) {
  const std::lock_guard lock(mutex_);
  const auto place = kept_.find(key);
  if (place == kept_.end() || place->second.empty()) return false;
  notice = place->second.front();
  place->second.pop_front();
  return true;
}

void NoticeBox::send(const Notice& notice, int rank, MPI_Request& request) const {
  (void)pmpi().Issend(&notice, sizeof notice, handles().byte, rank, kNoticeTag, comm_, &request);
}

}  // namespace crossrail::mpi
