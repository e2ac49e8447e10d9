#include "mpi/bulletin.h"

#include "mpi/communicators.h"
#include "mpi/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr int kNoticeTag = 1;

}  // namespace

Bulletin::~Bulletin() {
  if (finalizing()) return;
  for (Posting& posting : postings_) {
    for (MPI_Request& request : posting.requests) {
      if (request != handles().request_null) (void)pmpi().Request_free(&request);
    }
  }
}

void Bulletin::enter(std::uint64_t shape_hash, std::uint64_t block_bytes) {
  ++mine_.call;
  mine_.shape = shape_hash;
  mine_.bytes = block_bytes;
}

void Bulletin::post(Code code) {
  used_ = true;
  // Postings that have gone out by now make room.
  for (auto at = postings_.begin(); at != postings_.end();) {
    int done = 0;
    (void)pmpi().Testall(static_cast<int>(at->requests.size()), at->requests.data(), &done, MPI_STATUSES_IGNORE);
    at = done != 0 ? postings_.erase(at) : std::next(at);
  }
  Posting& posting = postings_.emplace_back();
  posting.notice = mine_;
  posting.notice.code = static_cast<std::uint64_t>(code);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    posting.requests.emplace_back();
    (void)pmpi().Isend(&posting.notice, sizeof(Notice), handles().byte, peer, kNoticeTag, comm_, &posting.requests.back());
  }
}

void Bulletin::announce(Code code) { post(code); }

Status Bulletin::look() {
  if (told_in_call_ != mine_.call) {
    told_in_call_ = mine_.call;
    post(Code::ok);
  }
  Notice notice{};
  for (int from = 0; take(notice, from);) CROSSRAIL_TRY(read(notice, from));
  return {};
}

bool Bulletin::take(Notice& notice, int& from) {
  int arrived = 0;
  MPI_Status status;
  (void)pmpi().Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_, &arrived, &status);
  if (arrived == 0) return false;
  used_ = true;
  from = status.MPI_SOURCE;
  return pmpi().Recv(&notice, sizeof notice, handles().byte, from, kNoticeTag, comm_, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

bool Bulletin::was_used() {
  Notice notice{};
  for (int from = 0; take(notice, from);) {
  }
  return used_;
}

Status Bulletin::read(const Notice& notice, int from) const {
  // An error in a call that went well here is one all the same: that rank is native by now.
  if (notice.code != 0) return failure(static_cast<Code>(notice.code), "rank %d met an error on this communicator", from);
  if (notice.call != mine_.call || notice.shape == mine_.shape) return {};
  return failure(Code::mismatch, "call %llu: rank %d has blocks of %llu bytes, rank %d of %llu (or another collective)",
                 static_cast<unsigned long long>(mine_.call), rank_, static_cast<unsigned long long>(mine_.bytes), from,
                 static_cast<unsigned long long>(notice.bytes));
}

}  // namespace crossrail::mpi
