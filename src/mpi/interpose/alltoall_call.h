// The arguments of MPI_Alltoall and MPI_Allgather, of their nonblocking and persistent forms, as a Shape and two sides.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/buffers/vector_side.h"
#include "mpi/interpose/arguments.h"

namespace crossrail::mpi {

class AlltoallCall {
 public:
  static constexpr std::size_t kWords = 7, kReceiveWord = 3;
  using Packed = PackedBuffers;
  struct Facts {};  // what a survey needs beside the call: nothing

  AlltoallCall(const Word64* words, bool large_counts, Collective collective = Collective::alltoall);
  MPI_Comm comm() const { return comm_; }
  // Arguments that the MPI library refuses itself, before it communicates: it shall say so.
  bool left_to_mpi() const;
  // Finds out what the types are, among so many ranks.
  Survey survey(int ranks, Facts&);

  // Then:
  Shape shape() const { return {collective_, Memory::host, in_place() && !gathers(), block_bytes_}; }
  std::uint64_t block_bytes() const { return block_bytes_; }
  int blocks_sent(int ranks) const { return gathers() ? 1 : ranks; }
  // The two sides of this rank differ in size: none of the MPI library's business, since it does not look.
  bool unequal() const { return unequal_; }
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
  // Types that are needed later may be freed by the program before: types of ours, to be freed, take their place.
  void keep_types(const Facts&, std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm, Facts&) const { return {memory, packing_comm, sent(), recv_}; }

 private:
  bool gathers() const { return collective_ == Collective::allgather; }
  bool is_own_block() const;
  Side send_, recv_;  // the counts are of a block until the survey has seen how many there are
  MPI_Comm comm_;
  Collective collective_;
  bool negative_ = false;
  bool unequal_ = false;
  std::uint64_t block_bytes_ = 0;
};

// A type of ours alike one that is needed to reach its data; itself where a row of bytes is all there is to know.
MPI_Datatype kept_type(MPI_Datatype type, const TypeFacts& facts, std::vector<MPI_Datatype>& ours);

}  // namespace crossrail::mpi
