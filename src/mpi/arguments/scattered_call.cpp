#include "mpi/arguments/scattered_call.h"

#include "mpi/arguments/regular_call.h"
#include "mpi/buffers/reductions.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

// The words are those of the letters "srNtoc".
ScatteredCall::ScatteredCall(const MpiFunction& function, const Word64* words, bool large_counts)
    : counts_(words[2], large_counts), comm_(handle_from<MPI_Comm>(words[5])), op_(handle_from<MPI_Op>(words[4])),
      in_place_(reinterpret_cast<void*>(words[0]) == MPI_IN_PLACE), shape_{function.collective, Memory::host, false, 0} {
  recv_.address = reinterpret_cast<void*>(words[1]);
  send_.address = in_place_ ? recv_.address : reinterpret_cast<void*>(words[0]);
  send_.type = recv_.type = handle_from<MPI_Datatype>(words[3]);
}

// The MPICH family refuses two equal sides. Open MPI takes them for a call in place.
bool ScatteredCall::left_to_mpi() const {
  if (!counts_.given() || recv_.type == handles().type_null || recv_.address == MPI_IN_PLACE) return true;
  return !in_place_ && !library_is_open_mpi() && send_.address == recv_.address && send_.address != nullptr;
}

bool ScatteredCall::has_own_operation() const { return is_of_program(op_) && !has_null_buffer(); }

Survey ScatteredCall::survey(int ranks, Facts& facts) {
  int rank = 0;
  if (pmpi().Comm_rank(comm_, &rank) != MPI_SUCCESS) return {Survey::Answer::leave};
  if (const int code = describe(recv_.type, comm_, recv_.facts); !recv_.facts.usable) return {Survey::Answer::refused, code};
  send_.facts = recv_.facts;
  facts.out.size_for(ranks);
  blocks_ = &facts.out.blocks;
  const std::size_t element = recv_.facts.bytes;
  std::uint64_t elements = 0;
  std::int64_t signs = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const std::int64_t count = counts_[peer];
    signs |= count;
    facts.out.blocks[peer] = {static_cast<std::ptrdiff_t>(elements * element), static_cast<std::uint64_t>(count) * element};
    elements += static_cast<std::uint64_t>(count);
  }
  send_.count = elements;
  recv_.count = static_cast<std::uint64_t>(counts_[rank]);
  const std::uint64_t bytes = elements * element;
  block_bytes_ = bytes / static_cast<std::uint64_t>(ranks);
  shape_.block_bytes = mean_class(bytes, ranks);
  shape_.reduction = recv_.facts.predefined ? reduction_of(combining_of(op_), recv_.type, element) : Reduction{};
  return {signs < 0 || has_null_buffer() || shape_.reduction.operation == Operation::none ? Survey::Answer::leave : Survey::Answer::carry};
}

}  // namespace crossrail::mpi
