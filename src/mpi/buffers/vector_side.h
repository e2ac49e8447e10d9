// One side of MPI_Alltoallv, MPI_Alltoallw or MPI_Allgatherv: as the call gives it, and as blocks of bytes.
#pragma once

#include <vector>

#include "comm/buffers.h"
#include "device_sharing/device_lines.h"
#include "mpi/library/arguments.h"
#include "mpi/buffers/datatypes.h"

namespace crossrail::mpi {

struct VectorSide {
  void* address = nullptr;
  Numbers counts;
  Numbers displacements;                // in extents of `type`; in bytes where there are `types`
  MPI_Datatype type{};                  // of MPI_Alltoallv
  const MPI_Datatype* types = nullptr;  // of MPI_Alltoallw: one for every rank
  // Of a side that has one block, of this rank: instead of the arrays.
  struct OnlyBlock {
    int rank = -1;
    std::int64_t count = 0, displacement = 0;
  };
  OnlyBlock only;
  bool has_types() const { return types != nullptr; }
  bool has_one_block() const { return only.rank >= 0; }
  std::int64_t count_for(int rank) const { return !has_one_block() ? counts[rank] : rank == only.rank ? only.count : 0; }
  std::int64_t displacement_for(int rank) const { return !has_one_block() ? displacements[rank] : rank == only.rank ? only.displacement : 0; }
  MPI_Datatype type_for(int rank) const { return has_types() ? types[rank] : type; }
};

// How the engine finds a block: as it lies, or in a row of ours, packed at once or piece by piece (lies_apart).
enum class Travels : char { as_it_lies, by_row, by_pieces };

// What a survey finds out of a side. Kept with the communicator, so that its calls allocate nothing.
struct SideFacts {
  // One for every rank:
  std::vector<Block> blocks;     // offsets from the side's address, as they lie
  std::vector<TypeFacts> facts;  // of MPI_Alltoallw's types; the first is of MPI_Alltoallv's one
  std::vector<Travels> travels;
  // Where it may be on a device:
  std::vector<DevicePlace> places;                  // of the side that receives
  std::vector<const DeviceLayout*> device_layouts;  // of blocks with gaps
  std::ptrdiff_t unit = 1;       // bytes that a displacement counts
  bool in_rows = true;           // every block that is not empty
  void size_for(int ranks) {
    if (!blocks.empty()) return;
    blocks.resize(ranks);
    facts.resize(ranks);
    travels.resize(ranks);
    places.resize(ranks);
    device_layouts.resize(ranks);
  }
};

struct Survey {
  enum class Answer {
    carry,
    leave,   // the MPI library refuses this side, before it communicates: it shall say so
    refused  // the MPI library has refused a type and has raised `code`
  };
  Answer answer = Answer::carry;
  int code = 0;
  std::uint64_t bytes = 0;
};

Survey survey(const VectorSide& side, MPI_Comm comm, SideFacts& room);

// Mean over the ranks, of a side that need not be right.
std::uint64_t mean_block_bytes(const VectorSide& side, int ranks);

// True in Open MPI (also by the standard ABI), which looks at other arguments than the MPICH family.
bool library_is_open_mpi();

}  // namespace crossrail::mpi
