// RegularCall: the arguments of a collective whose blocks are equally long (MPI_Alltoall, MPI_Allgather) or that combines elements
// (MPI_Allreduce, MPI_Reduce_scatter_block), in any of its forms, as a Shape and two sides.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/buffers/vector_side.h"
#include "mpi/library/arguments.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

class RegularCall {
 public:
  using Packed = PackedBuffers;
  struct Facts {};  // A survey needs no memory beside the call.

  RegularCall(const MpiFunction& function, const Word64* words, bool large_counts);
  MPI_Comm comm() const { return comm_; }
  // Whether the MPI library refuses these arguments itself, before it communicates: then it shall say so.
  bool left_to_mpi() const;
  // Whether the operation is one of the program's, which only the MPI library can apply. False where that would refuse the call: an error
  // handler that then takes its time, or leaves by longjmp, is not in the call.
  bool has_own_operation() const;
  // Finds out what the types are, among so many ranks. The MPI library gets calls that are not defined by the standard, and operations
  // that are not MPI's own.
  Survey survey(int ranks, Facts&);

  // What follows holds once the call has been surveyed.
  Shape shape() const;
  std::uint64_t block_bytes() const { return block_bytes_; }  // of an allreduce: of all elements
  std::uint64_t mean_block_bytes() const { return block_bytes_; }
  int blocks_sent(int ranks) const { return sends_each() ? ranks : 1; }
  // Whether the two sides of this rank differ in size, which MPI libraries do not check.
  bool unequal(int, const Facts&) const { return unequal_; }
  bool in_place() const { return send_.address == MPI_IN_PLACE; }
  Span span_sent(const Facts&) const { return in_place() ? Span{} : span_of(send_); }
  Span span_received(const Facts&) const { return span_of(recv_); }
  SideParts parts_sent(const Facts&) const { return in_place() ? SideParts{} : parts_of(send_); }
  SideParts parts_received(const Facts&) const { return parts_of(recv_); }
  bool touches_devices(const Facts& facts) const {
    return in_device_memory(send_.address, parts_sent(facts)) || in_device_memory(recv_.address, parts_received(facts));
  }
  // A pending call may outlive the program's types: types of ours, which the caller frees, take their place.
  void keep_types(const Facts&, std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm, Facts&) const {
    return {memory, packing_comm, in_place() ? nullptr : &send_, recv_};
  }

 private:
  bool gathers() const { return collective_ == Collective::allgather; }
  bool scatters() const { return collective_ == Collective::reduce_scatter_block; }
  bool sends_each() const { return collective_ == Collective::alltoall || scatters(); }  // a block to each rank
  bool is_own_block() const;
  bool has_null_buffer() const { return recv_.count > 0 && (recv_.address == nullptr || send_.address == nullptr); }
  Survey survey_exchange(int ranks);
  Survey survey_reduction(int ranks);

  Side send_, recv_;  // the counts are those of the call until the survey has seen how many blocks there are
  MPI_Comm comm_;
  MPI_Op op_{};
  Collective collective_;
  bool reduces_ = false;
  bool negative_ = false;
  bool unequal_ = false;
  std::uint64_t block_bytes_ = 0;
  Reduction reduction_;
};

// Whether the MPI library refuses the null address of a side that has been described.
bool null_without_reason(const Side& side);

// Returns a type of ours with the same data as `type` where its layout is needed to reach them; `type` itself where they are a row of bytes.
MPI_Datatype kept_type(MPI_Datatype type, const TypeFacts& facts, std::vector<MPI_Datatype>& ours);

}  // namespace crossrail::mpi
