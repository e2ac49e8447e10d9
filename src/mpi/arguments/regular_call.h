// RegularCall turns the arguments of a collective with equal blocks (MPI_Alltoall, MPI_Allgather) or of a reduction (MPI_Allreduce,
// MPI_Reduce_scatter_block), in any of its forms, into a Shape and two sides.
#pragma once

#include <vector>

#include "comm/shape.h"
#include "mpi/buffers/packed_sides.h"
#include "mpi/library/arguments.h"
#include "mpi/library/pmpi.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

class RegularCall {
 public:
  using Packed = PackedSides;
  struct Facts {};  // A survey needs no memory beside the call.

  // The words are those of the letters in entry_points.def: "srntoc" for reductions, otherwise "sntrntc".
  RegularCall(const MpiFunction& function, const Word64* words, bool large_counts)
      : send_{reinterpret_cast<void*>(words[0])}, recv_{reinterpret_cast<void*>(words[function.receive_word])},
        comm_(handle_from<MPI_Comm>(words[function.words() - 1])), collective_(function.collective), reduces_(function.reduces) {
    const Word64* const received = words + (reduces_ ? 2 : 4);
    const Word64* const sent = reduces_ ? received : words + 1;
    recv_count_ = count_from(received[0], large_counts);
    send_count_ = count_from(sent[0], large_counts);
    recv_.count = static_cast<std::uint64_t>(recv_count_);
    send_.count = static_cast<std::uint64_t>(send_count_);
    recv_.type = handle_from<MPI_Datatype>(received[1]);
    send_.type = handle_from<MPI_Datatype>(sent[1]);
    if (reduces_) op_ = handle_from<MPI_Op>(words[4]);
  }
  MPI_Comm comm() const { return comm_; }
  // Asked of a call that has been surveyed and handled: returns whether a call of the same function with these words is alike in everything but its
  // buffers, and sets these if so. It need not be surveyed then. Types and operations must be MPI's own, because the program may free its own.
  bool becomes(const MpiFunction& function, const Word64* words, bool large_counts);
  // Returns whether MPI refuses these arguments before it communicates. The call is then left to it, so that the error is MPI's own.
  bool left_to_mpi() const {
    if (recv_count_ < 0 || (send_count_ < 0 && !in_place()) || recv_.type == handles().type_null || recv_.address == MPI_IN_PLACE) return true;
    if (in_place()) return false;
    return send_.type == handles().type_null || (send_.address == recv_.address && refuses_equal_sides());
  }
  // Returns whether the operation is one of the program's own, which only MPI can apply. It is false if MPI would refuse the call, because
  // an error handler that takes its time, or leaves by longjmp, is not in the call.
  bool has_own_operation() const;
  // Finds out what the types are, for this number of ranks. Calls that the standard does not define, and operations that are not MPI's own,
  // are left to MPI.
  Survey survey(int ranks, Facts&);

  // The functions below may be called once the call has been surveyed.
  //
  // Whether a reduction is in place is not part of its Shape. MPI libraries accept calls in which only some ranks are in place, and
  // bindings that compare addresses make such calls.
  Shape shape() const {
    return {collective_, Memory::host, in_place() && collective_ == Collective::alltoall, block_bytes_, Order::call, reduction_};
  }
  std::uint64_t block_bytes() const { return block_bytes_; }  // For an allreduce it is the size of all elements.
  int blocks_sent(int ranks) const { return sends_each() ? ranks : 1; }
  // Returns whether the two sides of this rank differ in size, which MPI libraries do not check.
  bool unequal(int) const { return unequal_; }
  bool in_place() const { return send_.address == MPI_IN_PLACE; }
  // An empty side stands for one that MPI does not look at.
  Side sent() const { return in_place() ? Side{} : send_; }
  Side received() const { return recv_; }
  // A pending call may outlive the program's types, so types of ours, which the caller frees, take their place.
  void keep_types(std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm) const {
    return {memory, packing_comm, in_place() ? recv_ : send_, recv_};
  }

 private:
  bool gathers() const { return collective_ == Collective::allgather; }
  bool scatters() const { return collective_ == Collective::reduce_scatter_block; }
  bool sends_each() const { return collective_ == Collective::alltoall || scatters(); }  // Each rank gets a block of its own.
  bool refuses_equal_sides() const;
  bool is_own_block() const;
  bool has_null_buffer() const { return recv_.count > 0 && (recv_.address == nullptr || send_.address == nullptr); }
  Survey survey_exchange(int ranks);
  Survey survey_reduction(int ranks);

  Side send_, recv_;  // Their counts are the program's until the survey has found the number of blocks.
  long long send_count_, recv_count_;  // They are the program's.
  MPI_Comm comm_;
  MPI_Op op_{};
  Collective collective_;
  bool reduces_ = false;
  bool unequal_ = false;
  std::uint64_t block_bytes_ = 0;
  Reduction reduction_;
};

// Returns whether MPI refuses the null address of a side that has been described.
bool null_without_reason(const Side& side);
// Returns whether only the MPI library can apply the operation, and would not refuse it.
bool is_of_program(MPI_Op op);

// Returns a type of ours with the same data as `type` if its layout is needed to reach them, or `type` itself if they lie in a row.
MPI_Datatype kept_type(MPI_Datatype type, const TypeFacts& facts, std::vector<MPI_Datatype>& ours);

}  // namespace crossrail::mpi
