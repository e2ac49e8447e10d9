#include "mpi/interpose/allreduce_call.h"

#include <algorithm>
#include <iterator>

#include "mpi/buffers/reductions.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

AllreduceCall::AllreduceCall(const Word64* words, bool large_counts, Collective collective)
    : op_(handle_from<MPI_Op>(words[4])), comm_(handle_from<MPI_Comm>(words[5])), collective_(collective) {
  const long long count = count_from(words[2], large_counts);
  send_ = {reinterpret_cast<void*>(words[0]), static_cast<std::uint64_t>(count), handle_from<MPI_Datatype>(words[3]), {}};
  recv_ = send_;
  recv_.address = reinterpret_cast<void*>(words[1]);
  negative_ = count < 0;
}

bool AllreduceCall::left_to_mpi() const {
  if (negative_ || recv_.type == handles().type_null || recv_.address == MPI_IN_PLACE) return true;
  // Two sides that are the same the MPICH family refuses, and Open MPI where they are more than an element of an allreduce.
  const std::uint64_t most = !library_is_open_mpi() ? 0 : scatters() ? recv_.count : 1;
  return send_.address == recv_.address && recv_.count > most;
}

bool AllreduceCall::has_null_buffer() const { return recv_.count > 0 && (recv_.address == nullptr || send_.address == nullptr); }

bool AllreduceCall::has_own_operation() const {
  const MPI_Op refused[] = {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP};
  if (std::find(std::begin(refused), std::end(refused), op_) != std::end(refused)) return false;
  return combining_of(op_).operation == Operation::none && !has_null_buffer();
}

Survey AllreduceCall::survey(int ranks, Facts&) {
  if (const int code = describe(recv_.type, comm_, recv_.facts); !recv_.facts.usable) return {Survey::Answer::refused, code};
  send_.facts = recv_.facts;
  reduction_ = recv_.facts.predefined ? reduction_of(combining_of(op_), recv_.type, recv_.facts.bytes) : Reduction{};
  block_bytes_ = recv_.facts.bytes * recv_.count;
  if (scatters()) send_.count *= static_cast<std::uint64_t>(ranks);
  if (scatters() && in_place()) recv_.count = send_.count;
  return {reduction_.operation == Operation::none || has_null_buffer() ? Survey::Answer::leave : Survey::Answer::carry};
}

Shape AllreduceCall::shape() const {
  Shape shape{collective_, Memory::host, false, block_bytes()};
  shape.reduction = reduction_;
  return shape;
}

}  // namespace crossrail::mpi
