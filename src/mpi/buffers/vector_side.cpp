#include "mpi/buffers/vector_side.h"

#include <algorithm>
#include <cstring>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// Returns what one unit of MPI_Alltoallv's displacements means.
std::ptrdiff_t extent_of(MPI_Datatype type, const TypeFacts& facts) {
  if (facts.contiguous) return static_cast<std::ptrdiff_t>(facts.bytes);
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_extent(type, &lower, &extent);
  return extent;
}

bool null_without_reason(const VectorSide& side, MPI_Datatype type, const TypeFacts& facts) {
  return side.address == nullptr && !library_is_open_mpi() && begins_at_its_address(type, facts);
}

// `at` is the position of the first element.
Block block_at(std::ptrdiff_t at, std::uint64_t count, const TypeFacts& facts) {
  const std::size_t bytes = count * facts.bytes;
  if (facts.in_a_row_of(count)) return {at + facts.lower, bytes};
  return {at, bytes, facts.layout};
}

Survey refused(int code) { return {Survey::Answer::refused, code}; }
Survey left_to_library() { return {Survey::Answer::leave}; }

Survey survey_one_type(const VectorSide& side, MPI_Comm comm, SideFacts& room) {
  TypeFacts& facts = room.facts[0];
  if (const int code = describe(side.type, comm, facts); !facts.usable) return refused(code);
  room.unit = extent_of(side.type, facts);
  room.in_rows = facts.contiguous;
  const auto unit = static_cast<std::uint64_t>(room.unit);
  const int ranks = static_cast<int>(room.blocks.size());
  std::int64_t signs = 0;
  Survey found;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = side.counts[rank];
    signs |= count;
    const auto at = static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(side.displacements[rank]) * unit);
    room.blocks[rank] = block_at(at, static_cast<std::uint64_t>(count), facts);
    found.bytes += room.blocks[rank].bytes;
  }
  if (signs < 0 || (signs > 0 && null_without_reason(side, side.type, facts))) return left_to_library();
  return found;
}

Survey survey_one_block(const VectorSide& side, MPI_Comm comm, SideFacts& room) {
  TypeFacts& facts = room.facts[0];
  if (const int code = describe(side.type, comm, facts); !facts.usable) return refused(code);
  room.unit = extent_of(side.type, facts);
  room.in_rows = facts.contiguous;
  std::fill(room.blocks.begin(), room.blocks.end(), Block{});
  const std::int64_t count = side.only.count;
  if (count < 0 || (count > 0 && null_without_reason(side, side.type, facts))) return left_to_library();
  const auto at = static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(side.only.displacement) * static_cast<std::uint64_t>(room.unit));
  Block& block = room.blocks[side.only.rank] = block_at(at, static_cast<std::uint64_t>(count), facts);
  return {Survey::Answer::carry, 0, block.bytes};
}

Survey survey_types(const VectorSide& side, MPI_Comm comm, SideFacts& room) {
  const int ranks = static_cast<int>(room.blocks.size());
  int described = -1;  // It is a rank whose type is known; neighbours often have the same type.
  room.unit = 1;
  room.in_rows = true;
  Survey found;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = side.counts[rank];
    const MPI_Datatype type = side.types[rank];
    TypeFacts& facts = room.facts[rank];
    room.blocks[rank] = {};
    // Open MPI requires a type for an empty block, too; the other libraries do not look at it.
    if (count == 0 && !library_is_open_mpi()) continue;
    if (count < 0 || type == handles().type_null) return left_to_library();
    if (described >= 0 && type == side.types[described]) {
      facts = room.facts[described];
    } else if (const int code = describe(type, comm, facts); !facts.usable) {
      return refused(code);
    }
    described = rank;
    const std::size_t bytes = static_cast<std::uint64_t>(count) * facts.bytes;
    if (bytes == 0) continue;
    if (null_without_reason(side, type, facts)) return left_to_library();
    room.blocks[rank] = block_at(static_cast<std::ptrdiff_t>(side.displacements[rank]), static_cast<std::uint64_t>(count), facts);
    found.bytes += bytes;
    room.in_rows = room.in_rows && facts.in_a_row_of(static_cast<std::uint64_t>(count));
  }
  return found;
}

}  // namespace

bool library_is_open_mpi() {
  static const bool is = std::strstr(library().version, "Open MPI") != nullptr;
  return is;
}

Survey survey(const VectorSide& side, MPI_Comm comm, SideFacts& room) {
  if (side.has_one_block()) return survey_one_block(side, comm, room);
  return side.has_types() ? survey_types(side, comm, room) : survey_one_type(side, comm, room);
}

std::uint64_t mean_block_bytes(const VectorSide& side, int ranks) {
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = side.count_for(rank);
    const MPI_Datatype type = side.type_for(rank);
    if (count > 0 && type != handles().type_null) bytes += static_cast<std::uint64_t>(count) * size_of(type);
  }
  return bytes / static_cast<std::uint64_t>(ranks);
}

}  // namespace crossrail::mpi
