// MPI_Alltoallv and MPI_Alltoallw, which are one collective here.

#include "mpi/communicators.h"
#include "mpi/counters.h"
#include "mpi/pmpi.h"
#include "mpi/settle.h"
#include "mpi/vector_rows.h"

namespace crossrail::mpi {
namespace {

// No rank knows the blocks of others, and who sends in place sends from a copy.
constexpr Shape kShape{Collective::alltoallv, Memory::host, false, 0};

struct VectorCall {
  const char* function;
  VectorSide send;
  VectorSide recv;
  MPI_Comm comm;
  bool in_place() const { return send.address == MPI_IN_PLACE; }
  // The send arguments mean nothing in place.
  const VectorSide& sent() const { return in_place() ? recv : send; }
};

VectorSide one_type(const Word64 words[4], bool large_counts) {
  return {reinterpret_cast<void*>(words[0]), Numbers(words[1], large_counts), Numbers(words[2], large_counts),
          handle_from<MPI_Datatype>(words[3]), nullptr};
}

VectorSide many_types(const Word64 words[4], bool large_counts) {
  return {reinterpret_cast<void*>(words[0]), Numbers(words[1], large_counts), Numbers(words[2], large_counts),
          handles().type_null, reinterpret_cast<const MPI_Datatype*>(words[3])};
}

bool incomplete(const VectorSide& side) {
  return !side.counts.given() || !side.displacements.given() || (!side.has_types() && side.type == handles().type_null);
}

// The MPICH family refuses two sides that are the same; Open MPI does not look.
bool same_sides(const VectorCall& call) {
  return !library_is_open_mpi() && call.send.address == call.recv.address && call.send.address != nullptr &&
         call.send.counts == call.recv.counts && call.send.type == call.recv.type && call.send.types == call.recv.types;
}

// Arguments that the MPI library refuses itself, before it communicates: it shall say so.
bool left_to_mpi(const VectorCall& call) {
  if (incomplete(call.recv) || call.recv.address == MPI_IN_PLACE) return true;
  return !call.in_place() && (incomplete(call.send) || same_sides(call));
}

Outcome run_vector(const CallPlace& place, const VectorCall& call, CommunicatorRecord& record) {
  Communicator& communicator = place.communicator;
  VectorRows rows(communicator, call.comm, {call.in_place() ? call.recv : call.send, record.out}, {call.recv, record.in});
  return run_collective(communicator, place.shape, rows);
}

void carry_surveyed(const CallPlace& place, const VectorCall& call, CommunicatorRecord& record, Carried& carried) {
  const int ranks = place.communicator.topology.size;
  record.in.size_for(ranks);
  record.out.size_for(ranks);
  Survey found = survey(call.recv, call.comm, record.in);
  if (found.answer == Survey::Answer::carry && !call.in_place()) found = survey(call.send, call.comm, record.out);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return;
  carried.block_bytes = found.bytes / static_cast<std::uint64_t>(ranks);
  const int rank = place.communicator.topology.rank;
  if (!call.in_place() && record.out.blocks[rank].bytes != record.in.blocks[rank].bytes) {
    refuse_unequal_sides(place, carried);
    return;
  }
  settle(place, run_vector(place, call, record), carried);
}

Carried try_to_carry(const VectorCall& call) {
  Carried carried;
  if (left_to_mpi(call)) return carried;
  CommunicatorRecord* record = record_of(call.comm);
  if (record == nullptr || record->communicator == nullptr) return carried;
  Communicator& communicator = *record->communicator;
  const CallPlace place{call.function, call.comm, communicator, kShape};
  if (known_native(place)) {
    if (counting()) carried.block_bytes = mean_block_bytes(call.sent(), communicator.topology.size);
    settle(place, run_collective(communicator, kShape, {}), carried);
  } else {
    carry_surveyed(place, call, *record, carried);
  }
  return carried;
}

}  // namespace

Carried carry_alltoallv(const Word64* words, bool large_counts) {
  if (find_functions() == nullptr) return noted({});
  return noted(try_to_carry({"MPI_Alltoallv", one_type(words, large_counts), one_type(words + 4, large_counts),
                             handle_from<MPI_Comm>(words[8])}));
}

Carried carry_alltoallw(const Word64* words, bool large_counts) {
  if (find_functions() == nullptr) return noted({});
  return noted(try_to_carry({"MPI_Alltoallw", many_types(words, large_counts), many_types(words + 4, large_counts),
                             handle_from<MPI_Comm>(words[8])}));
}

}  // namespace crossrail::mpi
