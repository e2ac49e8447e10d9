// ScatteredCall holds the arguments of MPI_Reduce_scatter, which combines blocks of different lengths, in any of its forms.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/arguments/vector_call.h"
#include "mpi/buffers/scattered_buffers.h"

namespace crossrail::mpi {

class ScatteredCall {
 public:
  using Packed = ScatteredBuffers;
  using Facts = VectorCall::Facts;  // They describe the blocks of the sending side.

  ScatteredCall(const MpiFunction& function, const Word64* words, bool large_counts);
  MPI_Comm comm() const { return comm_; }
  // Returns whether MPI refuses these arguments before it communicates. The call is then left to it, so that the error is MPI's own. Errors in the
  // counts are found by the survey.
  bool left_to_mpi() const;
  // It has the same meaning as in RegularCall. A rank that receives nothing may have no buffer, and still takes part in the call.
  bool has_own_operation() const;
  Survey survey(int ranks, Facts& facts);

  // The functions below may be called once the call has been surveyed.
  Shape shape() const { return shape_; }
  std::uint64_t block_bytes() const { return block_bytes_; }  // It is the mean.
  int blocks_sent(int ranks) const { return ranks; }
  bool unequal(int) const { return false; }
  bool in_place() const { return in_place_; }
  Side sent() const { return in_place_ ? Side{} : send_; }
  Side received() const { return in_place_ ? send_ : recv_; }
  void keep_types(std::vector<MPI_Datatype>&) {}  // MPI owns the types.
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm) const { return {memory, packing_comm, {send_, recv_}, *blocks_}; }

 private:
  // Returns whether a buffer is null without a reason, by the counts that the survey has found.
  bool has_null_buffer() const { return (send_.count > 0 && send_.address == nullptr) || (recv_.count > 0 && recv_.address == nullptr); }

  Side send_, recv_;  // In place, both have the same address. Their counts are those that the survey has found.
  Numbers counts_;
  MPI_Comm comm_;
  MPI_Op op_;
  bool in_place_;
  const std::vector<Block>* blocks_ = nullptr;  // They belong to the facts.
  std::uint64_t block_bytes_ = 0;
  Shape shape_;
};

}  // namespace crossrail::mpi
