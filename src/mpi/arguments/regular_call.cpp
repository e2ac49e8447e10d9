#include "mpi/arguments/regular_call.h"

#include <algorithm>
#include <iterator>

#include "mpi/buffers/reductions.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

// MPICH and its relatives refuse two equal sides. Open MPI refuses them only in reductions, and in an allreduce only if there is more than
// one element.
bool RegularCall::refuses_equal_sides() const {
  if (reduces_) return recv_.count > (!library_is_open_mpi() ? 0 : scatters() ? recv_.count : 1);
  return !gathers() && !library_is_open_mpi() && recv_.address != nullptr && recv_.count > 0 && send_.count == recv_.count && send_.type == recv_.type;
}

bool is_of_program(MPI_Op op) {
  const MPI_Op refused[] = {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP};
  if (std::find(std::begin(refused), std::end(refused), op) != std::end(refused)) return false;
  return combining_of(op).operation == Operation::none;
}

bool RegularCall::has_own_operation() const { return reduces_ && is_of_program(op_) && !has_null_buffer(); }

// Open MPI checks this only for predefined types.
bool null_without_reason(const Side& side) {
  if (side.address != nullptr || side.bytes() == 0) return false;
  return side.facts.predefined || (!library_is_open_mpi() && begins_at_its_address(side.type, side.facts));
}

// In an allgather that is not in place, MPICH and its relatives refuse a send buffer that lies where this rank's block goes.
bool RegularCall::is_own_block() const {
  int rank = 0;
  if (send_.count != recv_.count || send_.type != recv_.type || block_bytes_ == 0 || pmpi().Comm_rank(comm_, &rank) != MPI_SUCCESS) return false;
  return send_.address == moved(recv_.address, static_cast<std::ptrdiff_t>(block_bytes_) * rank);
}

bool RegularCall::becomes(const MpiFunction& function, const Word64* words, bool large_counts) {
  void* const send = reinterpret_cast<void*>(words[0]);
  void* const recv = reinterpret_cast<void*>(words[function.receive_word]);
  const Word64* const received = words + (reduces_ ? 2 : 4);
  if (function.collective != collective_) return false;
  if (count_from(received[0], large_counts) != recv_count_ || handle_from<MPI_Datatype>(received[1]) != recv_.type) return false;
  if (!recv_.facts.predefined || unequal_ || recv == nullptr || recv == MPI_IN_PLACE) return false;
  if (reduces_ && handle_from<MPI_Op>(words[4]) != op_) return false;
  if (in_place() != (send == MPI_IN_PLACE)) return false;
  if (!in_place()) {
    // What MPI refuses for its buffers alone is found by the survey.
    if (send == nullptr || send == recv || !send_.facts.predefined || (gathers() && !library_is_open_mpi())) return false;
    if (!reduces_ && (count_from(words[1], large_counts) != send_count_ || handle_from<MPI_Datatype>(words[2]) != send_.type)) return false;
  }
  send_.address = send;
  recv_.address = recv;
  return true;
}

Survey RegularCall::survey(int ranks, Facts&) { return reduces_ ? survey_reduction(ranks) : survey_exchange(ranks); }

Survey RegularCall::survey_exchange(int ranks) {
  if (const int code = describe(recv_.type, comm_, recv_.facts); !recv_.facts.usable) return {Survey::Answer::refused, code};
  block_bytes_ = recv_.bytes();
  if (!in_place()) {
    if (send_.type == recv_.type) send_.facts = recv_.facts;
    else if (const int code = describe(send_.type, comm_, send_.facts); !send_.facts.usable) return {Survey::Answer::refused, code};
    if (null_without_reason(send_)) return {Survey::Answer::leave};
    if (gathers() && !library_is_open_mpi() && is_own_block()) return {Survey::Answer::leave};
    unequal_ = send_.bytes() != block_bytes_;
  }
  if (null_without_reason(recv_)) return {Survey::Answer::leave};
  if (!gathers()) send_.count *= static_cast<std::uint64_t>(ranks);
  recv_.count *= static_cast<std::uint64_t>(ranks);
  return {};
}

Survey RegularCall::survey_reduction(int ranks) {
  if (const int code = describe(recv_.type, comm_, recv_.facts); !recv_.facts.usable) return {Survey::Answer::refused, code};
  send_.facts = recv_.facts;
  reduction_ = recv_.facts.predefined ? reduction_of(combining_of(op_), recv_.type, recv_.facts.bytes) : Reduction{};
  block_bytes_ = recv_.bytes();
  if (scatters()) send_.count *= static_cast<std::uint64_t>(ranks);
  if (scatters() && in_place()) recv_.count = send_.count;
  return {reduction_.operation == Operation::none || has_null_buffer() ? Survey::Answer::leave : Survey::Answer::carry};
}

MPI_Datatype kept_type(MPI_Datatype type, const TypeFacts& facts, std::vector<MPI_Datatype>& ours) {
  if (facts.contiguous || facts.predefined) return type;
  MPI_Datatype own = type;
  if (make_alike(type, own)) ours.push_back(own);
  return own;
}

void RegularCall::keep_types(std::vector<MPI_Datatype>& ours) {
  if (reduces_) return;
  recv_.type = kept_type(recv_.type, recv_.facts, ours);
  if (!in_place()) send_.type = kept_type(send_.type, send_.facts, ours);
}

}  // namespace crossrail::mpi
