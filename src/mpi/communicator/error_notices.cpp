#include "mpi/communicator/error_notices.h"

#include "mpi/communicator/communicators.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr int kNoticeTag = 1;

}  // namespace

ErrorNotices::~ErrorNotices() {
  if (finalizing()) return;
  for (Posting& posting : postings_) {
    for (MPI_Request& request : posting.requests) {
      if (request != handles().request_null) (void)pmpi().Request_free(&request);
    }
  }
}

void ErrorNotices::begin_call(std::size_t slot, std::uint64_t call, std::uint64_t shape_hash, std::uint64_t block_bytes) {
  const std::lock_guard lock(mutex_);
  record(slot).mine = {slot, call, shape_hash, block_bytes, 0};
}

// Postings that have gone out by now make room. Not from within: the one further up goes through them.
void ErrorNotices::drop_sent() {
  if (inside_ > 1) return;
  for (auto at = postings_.begin(); at != postings_.end();) {
    int done = 0;
    (void)pmpi().Testall(static_cast<int>(at->requests.size()), at->requests.data(), &done, MPI_STATUSES_IGNORE);
    at = done != 0 ? postings_.erase(at) : std::next(at);
  }
}

void ErrorNotices::post(const Notice& notice) {
  used_ = true;
  drop_sent();
  Posting& posting = postings_.emplace_back();
  posting.notice = notice;
  posting.requests.resize(static_cast<std::size_t>(size_), handles().request_null);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    (void)pmpi().Isend(&posting.notice, sizeof(Notice), handles().byte, peer, kNoticeTag, comm_, &posting.requests[peer]);
  }
}

void ErrorNotices::report_error(std::size_t slot, Code code) {
  const std::lock_guard lock(mutex_);
  ++inside_;
  Notice notice = record(slot).mine;
  notice.code = static_cast<std::uint64_t>(code);
  post(notice);
  --inside_;
}

Status ErrorNotices::look(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  if (inside_ > 0) return {};  // the one further up is at it
  ++inside_;
  if (Record& own = record(slot); own.told_in_call != own.mine.call) {
    own.told_in_call = own.mine.call;
    post(own.mine);
  }
  Notice notice{};
  Status status;
  for (int from = 0; status.ok() && take(notice, from);) {
    const Status read_it = read(notice, from);
    if (notice.slot == slot) status = read_it;
  }
  --inside_;
  return status.ok() ? judge(record(slot)) : status;
}

bool ErrorNotices::take(Notice& notice, int& from) {
  int arrived = 0;
  MPI_Status status;
  (void)pmpi().Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_, &arrived, &status);
  if (arrived == 0) return false;
  used_ = true;
  from = status.MPI_SOURCE;
  return pmpi().Recv(&notice, sizeof notice, handles().byte, from, kNoticeTag, comm_, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

bool ErrorNotices::was_used() {
  Notice notice{};
  for (int from = 0; take(notice, from);) {
  }
  return used_;
}

Status ErrorNotices::read(const Notice& notice, int from) {
  Record& known = record(notice.slot);
  if (notice.code != 0) {
    if (known.error.code == 0 || notice.call < known.error.call) {
      known.error = notice;
      known.error_from = from;
    }
    return {};
  }
  const Notice& mine = known.mine;
  if (notice.call != mine.call || notice.shape == mine.shape) return {};
  return failure(Code::mismatch, "call %llu: rank %d has blocks of %llu bytes, rank %d of %llu (or another collective)",
                 static_cast<unsigned long long>(mine.call), rank_, static_cast<unsigned long long>(mine.bytes), from,
                 static_cast<unsigned long long>(notice.bytes));
}

// From the call after the error on, all ranks leave their calls to the MPI library.
Status ErrorNotices::judge(const Record& known) const {
  if (known.error.code == 0) return {};
  if (known.mine.call == known.error.call + 1) return failed(Code::given_back, "another rank met an error in the call before");
  return failure(static_cast<Code>(known.error.code), "rank %d met an error on this communicator", known.error_from);
}

}  // namespace crossrail::mpi
