// A VectorSide is one side of MPI_Alltoallv, MPI_Alltoallw or MPI_Allgatherv, both as the call gives it and as blocks of bytes.
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
  Numbers displacements;                // The unit is the extent of `type`, or one byte if there are `types`.
  MPI_Datatype type{};                  // MPI_Alltoallv has one.
  const MPI_Datatype* types = nullptr;  // MPI_Alltoallw has one type for every rank.
  // A side that has only this rank's block has it instead of the arrays.
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

// This says how the engine finds a block: as it lies, or in a row of ours, into which it is packed at once or piece by piece (lies_apart).
enum class Travels : char { as_it_lies, by_row, by_pieces };

// SideFacts is what a survey finds out about a side. The communicator keeps it, so that its calls allocate nothing.
struct SideFacts {
  // These have one element for every rank.
  std::vector<Block> blocks;     // Offsets count from the side's address, as the blocks lie.
  std::vector<TypeFacts> facts;  // They describe MPI_Alltoallw's types; only the first is used for MPI_Alltoallv.
  std::vector<Travels> travels;
  // These are set if the side may be on a device.
  std::vector<DevicePlace> places;                  // Only the receiving side has them.
  std::vector<const DeviceLayout*> device_layouts;  // Blocks with gaps have them.
  std::ptrdiff_t unit = 1;       // A displacement counts in units of this many bytes.
  bool in_rows = true;           // It is true if every block that is not empty is in a row.
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
    leave,   // MPI refuses this side before it communicates, so the call is left to it.
    refused  // MPI has refused a type and has raised `code`.
  };
  Answer answer = Answer::carry;
  int code = 0;
  std::uint64_t bytes = 0;
};

Survey survey(const VectorSide& side, MPI_Comm comm, SideFacts& room);

// Returns the mean over the ranks, of a side that need not be valid.
std::uint64_t mean_block_bytes(const VectorSide& side, int ranks);

// Returns true in Open MPI (also through the standard ABI), which looks at other arguments than the MPICH family.
bool library_is_open_mpi();

}  // namespace crossrail::mpi
