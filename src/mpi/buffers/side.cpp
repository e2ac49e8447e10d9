#include "mpi/buffers/side.h"

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

Survey survey_one_type(VectorSide& side, MPI_Comm comm, BlockTable& table) {
  const TypeFacts& facts = side.facts;
  if (const int code = describe(side.type, comm, side.facts); !facts.usable) return refused(code);
  const auto unit = static_cast<std::uint64_t>(table.unit = extent_of(side.type, facts));
  std::int64_t signs = 0;
  Survey found;
  const auto add = [&](Block& block, std::int64_t count, std::int64_t displacement) {
    signs |= count;
    block = block_at(static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(displacement) * unit), static_cast<std::uint64_t>(count), facts);
    found.bytes += block.bytes;
  };
  if (side.has_one_block()) {
    std::fill(table.blocks.begin(), table.blocks.end(), Block{});
    add(table.blocks[side.only.rank], static_cast<std::int64_t>(side.count), side.only.displacement);
  } else {
    const int ranks = static_cast<int>(table.blocks.size());
    for (int rank = 0; rank < ranks; ++rank) add(table.blocks[rank], side.counts[rank], side.displacements[rank]);
  }
  if (signs < 0 || (signs > 0 && null_without_reason(side, side.type, facts))) return left_to_library();
  return found;
}

Survey survey_types(VectorSide& side, MPI_Comm comm, BlockTable& table) {
  const int ranks = static_cast<int>(table.blocks.size());
  int described = -1;  // It is a rank whose type is known; neighbours often have the same type.
  table.unit = 1;
  side.facts = {.contiguous = true};
  Survey found;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = side.counts[rank];
    const MPI_Datatype type = side.types[rank];
    TypeFacts& facts = table.facts[rank];
    table.blocks[rank] = {};
    // Open MPI requires a type for an empty block, too; the other libraries do not look at it.
    if (count == 0 && !library_is_open_mpi()) continue;
    if (count < 0 || type == handles().type_null) return left_to_library();
    if (described >= 0 && type == side.types[described]) {
      facts = table.facts[described];
    } else if (const int code = describe(type, comm, facts); !facts.usable) {
      return refused(code);
    }
    described = rank;
    const std::size_t bytes = static_cast<std::uint64_t>(count) * facts.bytes;
    if (bytes == 0) continue;
    if (null_without_reason(side, type, facts)) return left_to_library();
    table.blocks[rank] = block_at(static_cast<std::ptrdiff_t>(side.displacements[rank]), static_cast<std::uint64_t>(count), facts);
    found.bytes += bytes;
    side.facts.contiguous = side.facts.contiguous && facts.in_a_row_of(static_cast<std::uint64_t>(count));
  }
  return found;
}

}  // namespace

bool library_is_open_mpi() {
  static const bool is = std::strstr(library().version, "Open MPI") != nullptr;
  return is;
}

Survey survey(VectorSide& side, MPI_Comm comm, BlockTable& table) {
  table.given = &side;
  side.table = &table;
  return side.has_types() ? survey_types(side, comm, table) : survey_one_type(side, comm, table);
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

Side Side::block_of_table(int number) const {
  if (table->blocks[number].bytes == 0) return {};
  const VectorSide& given = *table->given;
  return {moved(address, given.displacement_for(number) * table->unit), static_cast<std::uint64_t>(given.count_for(number)), given.type_for(number),
          given.has_types() ? table->facts[number] : facts};
}

Span span_of(const Side& side) {
  std::ptrdiff_t lower = PTRDIFF_MAX, upper = PTRDIFF_MIN;
  for (int number = 0; number < side.blocks(); ++number) {
    const Side block = side.block(number);
    if (block.bytes() == 0) continue;
    const std::ptrdiff_t at = offset_between(side.address, block.address);
    MPI_Aint first = block.facts.lower, bytes = static_cast<MPI_Aint>(block.bytes());
    if (!block.in_a_row()) {
      MPI_Aint ignored = 0, extent = 0;
      (void)pmpi().Type_get_extent(block.type, &ignored, &extent);
      (void)pmpi().Type_get_true_extent(block.type, &first, &bytes);
      const MPI_Aint steps = static_cast<MPI_Aint>(block.count - 1) * extent;
      if (extent < 0) first += steps;
      bytes += extent < 0 ? -steps : steps;
    }
    lower = std::min(lower, at + first);
    upper = std::max(upper, at + first + bytes);
  }
  return lower > upper ? Span{} : Span{lower, static_cast<std::size_t>(upper - lower)};
}

}  // namespace crossrail::mpi
