// RootedCall and RootedVectorCall hold the arguments of MPI_Gather and MPI_Scatter, and of their v forms, in any of their forms. A side that means
// nothing on this rank is empty here, and so is that of the root in place: its arguments are never looked at.
#pragma once

#include <vector>

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/vector_call.h"
#include "mpi/library/significant_sides.h"

namespace crossrail::mpi {

// Rooted is what all of them have in common: a root, and the checks because of which a call is left to MPI.
class Rooted {
 public:
  Rooted(const MpiFunction& function, const Word64* words);
  MPI_Comm comm() const { return comm_; }
  bool has_own_operation() const { return false; }
  // These have the same meaning as in RegularCall.
  bool left_to_mpi() const { return wrong_; }
  std::uint64_t block_bytes() const { return block_bytes_; }
  int blocks_sent(int ranks) const { return gathers() ? 1 : is_root() ? ranks : 0; }
  bool in_place() const { return in_place_; }

 protected:
  // Between groups, roots are given by negative numbers, which elsewhere are errors.
  bool has_wrong_root() const { return root_ < 0 || rank_ < 0; }
  bool is_root() const { return rank_ == root_; }
  bool gathers() const { return root_receives(collective_); }
  Shape shape_of(std::uint64_t block_bytes) const;

  MPI_Comm comm_;
  Collective collective_;
  int root_, rank_;
  SignificantSides means_;
  bool in_place_ = false, wrong_ = false;
  std::uint64_t block_bytes_ = 0;
};

class RootedCall : public Rooted {
 public:
  using Packed = PackedSides;
  struct Facts {};  // A survey needs no memory beside the call.

  RootedCall(const MpiFunction& function, const Word64* words, bool large_counts);
  Survey survey(int ranks, Facts&);
  Shape shape() const { return shape_of(block_bytes_); }
  bool unequal(int) const { return unequal_; }
  Side sent() const { return send_; }
  Side received() const { return recv_; }
  void keep_types(std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm) const {
    return {memory, packing_comm, in_place_ && gathers() ? recv_ : send_, recv_};
  }

 private:
  Side& row() { return gathers() ? recv_ : send_; }
  Side& own() { return gathers() ? send_ : recv_; }
  Survey describe_side(Side& side);
  bool is_own_block() const;

  Side send_, recv_;  // The root's row counts one block until the survey has found how many blocks there are.
  bool unequal_ = false;
};

class RootedVectorCall : public Rooted {
 public:
  using Packed = PackedSides;
  using Facts = VectorCall::Facts;

  RootedVectorCall(const MpiFunction& function, const Word64* words, bool large_counts);
  // These have the same meaning as in VectorCall.
  Survey survey(int ranks, Facts& facts);
  bool has_one_shape() const { return true; }
  std::uint64_t estimated_block_bytes(int ranks) const { return mean_block_bytes(send_, ranks); }
  Shape shape() const { return shape_of(0); }
  bool unequal(int) const { return is_root() && !in_place_ && own_of(send_).bytes != own_of(recv_).bytes; }
  Side sent() const { return send_; }
  Side received() const { return recv_; }
  void keep_types(std::vector<MPI_Datatype>& ours);
  Packed packed(PackingMemory& memory, MPI_Comm packing_comm) const { return {memory, packing_comm, send_, recv_}; }

 private:
  const Block& own_of(const Side& side) const { return side.table->blocks[static_cast<std::size_t>(root_)]; }
  bool is_own_block() const;

  VectorSide send_, recv_;
};

}  // namespace crossrail::mpi
