#include "mpi/interpose/alltoall_call.h"

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

AlltoallCall::AlltoallCall(const Word64* words, bool large_counts, Collective collective)
    : comm_(handle_from<MPI_Comm>(words[6])), collective_(collective) {
  const long long sent = count_from(words[1], large_counts), received = count_from(words[4], large_counts);
  send_ = {reinterpret_cast<void*>(words[0]), static_cast<std::uint64_t>(sent), handle_from<MPI_Datatype>(words[2]), {}};
  recv_ = {reinterpret_cast<void*>(words[3]), static_cast<std::uint64_t>(received), handle_from<MPI_Datatype>(words[5]), {}};
  negative_ = received < 0 || (!in_place() && sent < 0);
}

bool AlltoallCall::left_to_mpi() const {
  if (negative_ || recv_.type == handles().type_null || recv_.address == MPI_IN_PLACE) return true;
  if (in_place()) return false;
  if (send_.type == handles().type_null) return true;
  // The MPICH family refuses two sides that are the same; Open MPI does not look.
  return !gathers() && !library_is_open_mpi() && send_.address == recv_.address && recv_.address != nullptr && recv_.count > 0 &&
         send_.count == recv_.count && send_.type == recv_.type;
}

namespace {

// Open MPI looks at types of its own only.
bool null_without_reason(const Side& side) {
  if (side.address != nullptr || side.count == 0 || side.facts.bytes == 0) return false;
  return side.facts.predefined || (!library_is_open_mpi() && begins_at_its_address(side.type, side.facts));
}

}  // namespace

// Of an allgather: what is sent lies where it goes, without being in place, which the MPICH family refuses.
bool AlltoallCall::is_own_block() const {
  int rank = 0;
  if (send_.count != recv_.count || send_.type != recv_.type || block_bytes_ == 0 || pmpi().Comm_rank(comm_, &rank) != MPI_SUCCESS) return false;
  return send_.address == moved(recv_.address, static_cast<std::ptrdiff_t>(block_bytes_) * rank);
}

Survey AlltoallCall::survey(int ranks, Facts&) {
  if (const int code = describe(recv_.type, comm_, recv_.facts); !recv_.facts.usable) return {Survey::Answer::refused, code};
  block_bytes_ = recv_.facts.bytes * recv_.count;
  if (!in_place()) {
    if (const int code = describe(send_.type, comm_, send_.facts); !send_.facts.usable) return {Survey::Answer::refused, code};
    if (null_without_reason(send_)) return {Survey::Answer::leave};
    if (gathers() && !library_is_open_mpi() && is_own_block()) return {Survey::Answer::leave};
    unequal_ = send_.facts.bytes * send_.count != block_bytes_;
  }
  if (null_without_reason(recv_)) return {Survey::Answer::leave};
  if (!gathers()) send_.count *= static_cast<std::uint64_t>(ranks);
  recv_.count *= static_cast<std::uint64_t>(ranks);
  return {};
}

MPI_Datatype kept_type(MPI_Datatype type, const TypeFacts& facts, std::vector<MPI_Datatype>& ours) {
  if (facts.contiguous || facts.predefined) return type;
  MPI_Datatype own = type;
  if (make_alike(type, own)) ours.push_back(own);
  return own;
}

void AlltoallCall::keep_types(const Facts&, std::vector<MPI_Datatype>& ours) {
  recv_.type = kept_type(recv_.type, recv_.facts, ours);
  if (!in_place()) send_.type = kept_type(send_.type, send_.facts, ours);
}

}  // namespace crossrail::mpi
