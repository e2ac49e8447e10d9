// VectorCall holds the arguments of MPI_Alltoallv, MPI_Alltoallw and MPI_Allgatherv, whose ranks send one block each, in any of their forms. The
// first two are one collective here, since types decide only how blocks are copied.
//
// The Shape of an alltoallv holds no counts, because a rank knows only its own. So there is one plan for each slot, and counts decide nothing,
// except what both ranks of a pair know: whether their block is empty. A receiver may expect more than is sent, as with single messages;
// what has not come leaves the receive buffer as it was.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/buffers/packed_sides.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

// Makes a side of its words, the first of which is its address. The others are the counts, the displacements, and the type or the types.
VectorSide vector_side_of(const Word64 words[4], bool large_counts, bool has_types);
// Returns whether the program has left out an array or a type.
bool is_incomplete(const VectorSide& side);
// Replaces the program's types by ours, which the caller frees, and an array of types by one of the side's table.
void keep_types_of(VectorSide& side, std::vector<MPI_Datatype>& ours);

class VectorCall {
 public:
  using Packed = PackedSides;
  struct Facts {
    BlockTable out, in;
  };
  // The Shape is the same for all calls of alltoallv: no rank knows the blocks of others, and a rank in place sends from a copy.
  static constexpr Shape kShape{Collective::alltoallv, Memory::host, false, 0};

  VectorCall(const MpiFunction& function, const Word64* words, bool large_counts);
  MPI_Comm comm() const { return comm_; }
  // Returns whether MPI refuses these arguments before it communicates. The call is then left to it, so that the error is MPI's own.
  bool left_to_mpi() const;
  bool has_own_operation() const { return false; }
  Survey survey(int ranks, Facts& facts);
  // Returns the mean bytes of what this rank sends to another, without having checked the arguments.
  std::uint64_t estimated_block_bytes(int ranks) const { return mean_block_bytes(in_place() ? recv_ : send_, ranks); }

  // The functions below may be called once the call has been surveyed.
  Shape shape() const { return shape_; }
  std::uint64_t block_bytes() const { return block_bytes_; }  // this is the mean
  int blocks_sent(int ranks) const { return gathers() ? 1 : ranks; }
  bool unequal(int rank) const { return !in_place() && send_.table->blocks[rank].bytes != recv_.table->blocks[rank].bytes; }
  bool in_place() const { return in_place_; }
  Side sent() const { return in_place() ? Side{} : Side{send_}; }
  Side received() const { return recv_; }
  // The caller of a pending call may have made the arrays of types itself, and the program may free the types, so ours take their place.
  // The arrays of counts are the program's, which keeps them as they are until the call has ended.
  void keep_types(std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm) const {
    return {memory, packing_comm, in_place() && !gathers() ? recv_ : send_, recv_};
  }

  // Returns whether all calls of this function have one Shape.
  bool has_one_shape() const { return !gathers(); }

 private:
  bool gathers() const { return shape_.collective == Collective::allgatherv; }
  Survey survey_gathering(int ranks, Facts& facts);

  VectorSide send_, recv_;
  MPI_Comm comm_;
  bool in_place_;
  Shape shape_;
  std::uint64_t block_bytes_ = 0;
};

}  // namespace crossrail::mpi
