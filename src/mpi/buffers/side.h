// A Side is one side of a call: what it sends or what it receives, in the program's memory. It is one block (equal blocks follow each other and are one
// here), or it has a table with a block for each rank, as in MPI_Alltoallv, MPI_Alltoallw and MPI_Allgatherv.
#pragma once

#include <vector>

#include "comm/buffers.h"
#include "device_sharing/device_lines.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/library/arguments.h"

namespace crossrail::mpi {

struct BlockTable;

struct Side {
  void* address = nullptr;
  std::uint64_t count = 0;  // The table has one for each block instead.
  MPI_Datatype type{};
  TypeFacts facts;  // If blocks have types of their own, only `contiguous` is set: every block is in a row.
  BlockTable* table = nullptr;

  int blocks() const;
  // Returns a block as a side of its own. It is empty if the table says so.
  Side block(int number) const { return table == nullptr ? *this : block_of_table(number); }
  Side block_of_table(int number) const;

  // These functions are for a side without a table.
  std::size_t bytes() const { return count * facts.bytes; }
  bool in_a_row() const { return facts.in_a_row_of(count); }
};

// A VectorSide is a side as MPI_Alltoallv and its relatives pass it. A survey makes its table.
struct VectorSide : Side {
  Numbers counts;
  Numbers displacements;                // The unit is the extent of `type`, or one byte if there are `types`.
  const MPI_Datatype* types = nullptr;  // MPI_Alltoallw has one type for every rank, the others have `type`.
  // A side that has only this rank's block has `count` and this instead of the arrays.
  struct OnlyBlock {
    int rank = -1;
    std::int64_t displacement = 0;
  };
  OnlyBlock only;
  bool has_types() const { return types != nullptr; }
  bool has_one_block() const { return only.rank >= 0; }
  std::int64_t count_for(int rank) const { return !has_one_block() ? counts[rank] : rank == only.rank ? static_cast<std::int64_t>(count) : 0; }
  std::int64_t displacement_for(int rank) const { return !has_one_block() ? displacements[rank] : rank == only.rank ? only.displacement : 0; }
  MPI_Datatype type_for(int rank) const { return has_types() ? types[rank] : type; }
};

// This says how the engine finds a block: as it lies, or in a row of ours, into which it is packed at once or piece by piece (lies_apart).
enum class Travels : char { as_it_lies, by_row, by_pieces };

// A BlockTable is what a survey finds out about a VectorSide. The communicator keeps it, so that its calls allocate nothing.
struct BlockTable {
  const VectorSide* given = nullptr;
  // These have one element for every rank.
  std::vector<Block> blocks;     // Offsets count from the side's address, as the blocks lie.
  std::vector<TypeFacts> facts;  // They describe `types`.
  std::vector<Travels> travels;
  // These are set if the side may be on a device.
  std::vector<DevicePlace> places;                  // Only the receiving side has them.
  std::vector<const DeviceLayout*> device_layouts;  // Blocks with gaps have them.
  std::ptrdiff_t unit = 1;                          // A displacement counts in units of this many bytes.
  BlockTable* copied = nullptr;                     // In place, what is sent from a copy has this table.
  std::vector<ShortBlock> shorter;                  // These blocks have arrived only in part.
  std::vector<MPI_Datatype> kept_types;             // They stand for `types` in a pending call.
  void size_for(int ranks) {
    if (!blocks.empty()) return;
    blocks.resize(ranks);
    facts.resize(ranks);
    travels.resize(ranks);
    places.resize(ranks);
    device_layouts.resize(ranks);
  }
};

inline std::ptrdiff_t offset_between(const void* base, const void* at) {
  return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(base));
}
inline int Side::blocks() const { return table == nullptr ? 1 : static_cast<int>(table->blocks.size()); }

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

// Fills the table, which then belongs to the side. The side must stay where it is.
Survey survey(VectorSide& side, MPI_Comm comm, BlockTable& table);

// Returns the mean over the ranks, of a side that need not be valid.
std::uint64_t mean_block_bytes(const VectorSide& side, int ranks);

// Returns true in Open MPI (also through the standard ABI), which looks at other arguments than the MPICH family.
bool library_is_open_mpi();

// A Span is what a side touches, including its gaps: `bytes` bytes from `lower` after its address on.
struct Span {
  std::ptrdiff_t lower = 0;
  std::size_t bytes = 0;
};
Span span_of(const Side& side);

// These functions pack a side without a table into a row of bytes, and unpack it: by its layout, or through MPI if it has none. Errors: system.
Status pack(const Side& from, MPI_Comm comm, std::byte* row);
Status unpack(const std::byte* row, const Side& to, MPI_Comm comm);

}  // namespace crossrail::mpi
