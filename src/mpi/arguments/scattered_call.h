// ScatteredCall: the arguments of MPI_Reduce_scatter, which combines blocks of several lengths, in any of its forms.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/arguments/vector_call.h"
#include "mpi/buffers/scattered_buffers.h"

namespace crossrail::mpi {

class ScatteredCall {
 public:
  using Packed = ScatteredBuffers;
  using Facts = VectorCall::Facts;  // the blocks of the side that is sent

  ScatteredCall(const MpiFunction& function, const Word64* words, bool large_counts);
  MPI_Comm comm() const { return comm_; }
  // Whether the MPI library refuses these arguments itself, before it communicates: then it shall say so. What it finds in the counts the
  // survey finds, too.
  bool left_to_mpi() const;
  // As in RegularCall. A rank that receives nothing may have no buffer, and is in the call.
  bool has_own_operation() const;
  Survey survey(int ranks, Facts& facts);

  // Once surveyed:
  Shape shape() const { return shape_; }
  std::uint64_t block_bytes() const { return block_bytes_; }  // mean
  int blocks_sent(int ranks) const { return ranks; }
  bool unequal(int, const Facts&) const { return false; }
  bool in_place() const { return in_place_; }
  Span span_sent(const Facts&) const { return in_place_ ? Span{} : span_of(send_); }
  Span span_received(const Facts&) const { return span_of(in_place_ ? send_ : recv_); }
  SideParts parts_sent(const Facts&) const { return in_place_ ? SideParts{} : parts_of(send_); }
  SideParts parts_received(const Facts&) const { return parts_of(in_place_ ? send_ : recv_); }
  bool touches_devices(const Facts& facts) const {
    return in_device_memory(send_.address, parts_sent(facts)) || in_device_memory(recv_.address, parts_received(facts));
  }
  void keep_types(const Facts&, std::vector<MPI_Datatype>&) {}  // MPI's own
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm, Facts& facts) const {
    return {memory, packing_comm, {send_, recv_}, facts.out.blocks};
  }

 private:
  // Without a reason, as the survey has found; before it nobody knows of one.
  bool has_null_buffer() const { return (send_.count > 0 && send_.address == nullptr) || (recv_.count > 0 && recv_.address == nullptr); }

  Side send_, recv_;  // in place both at one address; their counts are those that the survey has found
  Numbers counts_;
  MPI_Comm comm_;
  MPI_Op op_;
  bool in_place_;
  std::uint64_t block_bytes_ = 0;
  Shape shape_;
};

}  // namespace crossrail::mpi
