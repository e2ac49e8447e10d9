// The arguments of MPI_Allreduce and MPI_Reduce_scatter_block, of their nonblocking and persistent forms, as a Shape and two sides.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/buffers/vector_side.h"
#include "mpi/interpose/arguments.h"

namespace crossrail::mpi {

class AllreduceCall {
 public:
  static constexpr std::size_t kWords = 6, kReceiveWord = 1;
  using Packed = PackedBuffers;
  struct Facts {};  // what a survey needs beside the call: nothing

  AllreduceCall(const Word64* words, bool large_counts, Collective collective = Collective::allreduce);
  MPI_Comm comm() const { return comm_; }
  // What the MPI library refuses itself.
  bool left_to_mpi() const;
  // One of the program's operations, which only the MPI library can do; not where it would refuse the call: an error handler that then takes
  // its time, or leaves by longjmp, is not in it.
  bool has_own_operation() const;
  // Finds out what the type is. To be left: also operations that are not MPI's own, and what is not defined by the standard, and may be by
  // the MPI library.
  Survey survey(int ranks, Facts&);

  // Then:
  Shape shape() const;
  std::uint64_t block_bytes() const { return block_bytes_; }  // of an allreduce: of all elements
  int blocks_sent(int ranks) const { return scatters() ? ranks : 1; }
  bool unequal() const { return false; }
  // No part of the Shape: MPI libraries carry calls in which some ranks are in place, as bindings that look at addresses make.
  bool in_place() const { return send_.address == MPI_IN_PLACE; }
  const Side* sent() const { return in_place() ? nullptr : &send_; }
  const Side& received() const { return recv_; }
  Span span_sent(const Facts&) const { return in_place() ? Span{} : span_of(send_); }
  Span span_received(const Facts&) const { return span_of(recv_); }
  SideParts parts_sent(const Facts&) const { return in_place() ? SideParts{} : parts_of(send_); }
  SideParts parts_received(const Facts&) const { return parts_of(recv_); }
  bool touches_devices(const Facts& facts) const {
    return in_device_memory(send_.address, parts_sent(facts)) || in_device_memory(recv_.address, parts_received(facts));
  }
  // Types of MPI's own stay.
  void keep_types(const Facts&, std::vector<MPI_Datatype>&) {}
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm, Facts&) const { return {memory, packing_comm, sent(), recv_}; }

 private:
  bool has_null_buffer() const;
  bool scatters() const { return collective_ == Collective::reduce_scatter_block; }
  Side send_, recv_;  // the counts are those of the call until the survey has seen how many blocks there are
  MPI_Op op_;
  MPI_Comm comm_;
  Collective collective_;
  bool negative_ = false;
  std::uint64_t block_bytes_ = 0;
  Reduction reduction_;
};

}  // namespace crossrail::mpi
