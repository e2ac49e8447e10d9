// These functions check how much has arrived: messages of the expected length, and shorter ones where that is allowed.
#include "mpi/communicator/mpi_links.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

Status MpiLinks::post_recv_up_to(int rank, const UpTo& what, Channel channel) {
  pieces_ = pieces_ || what.more;
  return post({rank, tag_of(channel), true, &what.came}, static_cast<std::byte*>(what.data), what.bytes);
}

void MpiLinks::give_up(const std::size_t& came) { give_up(came, 0); }

// Gives up the receives that are not known to have ended. MPI matches messages in the order of the receives. Therefore nothing can arrive for
// receives behind a shorter message, while messages for those before it may still be on their way.
void MpiLinks::give_up(const std::size_t& came, std::size_t first) {
  for (std::size_t one = first; one < posted_.size(); ++one) {
    if (posted_[one].came != &came || posted_[one].expected_bytes < 0) continue;
    posted_[one].expected_bytes = -1;
    if (requests_[one] != handles().request_null) (void)pmpi().Cancel(&requests_[one]);
  }
}

Status MpiLinks::check_size(std::size_t one) {
  Posted& posted = posted_[one];
  if (posted.expected_bytes < 0) return {};
  int bytes = 0;
  (void)pmpi().Get_count(&statuses_[one], handles().byte, &bytes);
  if (bytes != posted.expected_bytes && posted.came == nullptr) {
    return failure(Code::mismatch, "rank %d has sent %d bytes, rank %d expects %d", posted.peer, bytes, peers_->rank, posted.expected_bytes);
  }
  const bool shorter = bytes < posted.expected_bytes;
  posted.expected_bytes = -1;  // A later test would find an empty status.
  if (posted.came != nullptr) *posted.came += static_cast<std::size_t>(bytes);
  if (shorter) give_up(*posted.came, one + 1);
  return {};
}

Status MpiLinks::check_sizes(Span span) {
  for (std::size_t one = span.first; one < span.end; ++one) CROSSRAIL_TRY(check_size(one));
  return {};
}

Status MpiLinks::end_pieces(Span span) {
  for (std::size_t one = span.first; one < span.end; ++one) {
    if (posted_[one].came == nullptr || posted_[one].expected_bytes < 0) continue;
    int done = 0;
    const int code = pmpi().Test(&requests_[one], &done, &statuses_[one]);
    if (code != MPI_SUCCESS) return failed(Code::mismatch, "a message was longer than this rank's blocks");
    if (done != 0) CROSSRAIL_TRY(check_size(one));
  }
  return {};
}

}  // namespace crossrail::mpi
