#include "mpi/buffers/flatten.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/buffers/datatypes.h"
#include "mpi/buffers/type_contents.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostPieces = std::size_t{1} << 18;
// This limit applies to types so long that no MPI_Pack with int counts can pack them.
constexpr std::size_t kMostOfLong = std::size_t{1} << 24;
constexpr std::uint64_t kLong = std::uint64_t{1} << 31;
thread_local std::size_t most_pieces = kMostPieces;

// It holds the remaining effort of this thread, in words of contents read and pieces written. A word takes about 25 ns.
thread_local Work work;
constexpr std::uint64_t kLittleWork = 256;
constexpr std::uint64_t kBytesCopiedMeanwhile = 512;  // At least this many bytes can be copied in the time of one word.
constexpr std::uint64_t kAnyWork = ~std::uint64_t{0};

// It is set if MPI has refused an answer while this thread takes a type apart.
thread_local bool something_untold = false;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  if (pmpi().Type_get_extent(type, &lower, &extent) != MPI_SUCCESS) something_untold = true;
  return extent;
}

// Copies of an element follow each other at a distance of `extent`.
struct Copies {
  std::int64_t at;
  std::int64_t count;
  std::int64_t extent;
};

bool too_many(std::vector<Pieces>& pieces) {
  if (pieces.size() <= most_pieces) return false;
  join(pieces);
  return pieces.size() > most_pieces / 2;
}

// Returns false if there are too many pieces.
bool add(std::vector<Pieces>& pieces, const std::vector<Pieces>& element, const Copies& copies) {
  if (copies.count <= 0) return true;
  if (!work.spend(1)) return false;
  if (element.size() == 1 && element.front().count == 1) {
    pieces.push_back({copies.at + element.front().offset, element.front().bytes, static_cast<std::uint64_t>(copies.count), copies.extent});
    return !too_many(pieces);
  }
  for (std::int64_t copy = 0; copy < copies.count; ++copy) {
    if (!work.spend(element.size())) return false;
    for (Pieces one : element) {
      one.offset += copies.at + copy * copies.extent;
      pieces.push_back(one);
    }
    if (too_many(pieces)) return false;
  }
  return true;
}

bool flatten_into(MPI_Datatype type, std::vector<Pieces>& pieces);

bool flatten_element(MPI_Datatype type, std::vector<Pieces>& element) {
  if (!flatten_into(type, element)) return false;
  join(element);
  return true;
}

// A line has `count` blocks of equally many elements of the first type, `stride` bytes apart.
struct Line {
  std::int64_t count, block_length, stride;
};
bool add_line(const TypeContents& contents, std::vector<Pieces>& pieces, Line line) {
  std::vector<Pieces> element, block;
  if (!flatten_element(contents.types[0], element)) return false;
  if (!add(block, element, {0, line.block_length, extent_of(contents.types[0])})) return false;
  join(block);
  return add(pieces, block, {0, line.count, line.stride});
}

// Adds the lines of a subarray, one plane at a time. The last dimension of C's order is the innermost.
bool add_subarray(const TypeContents& contents, std::vector<Pieces>& pieces) {
  std::vector<Pieces> element, line;
  if (!flatten_element(contents.types[0], element)) return false;
  const auto dimensions = static_cast<int>(contents.integers[0]);
  const std::int64_t* const sizes = contents.integers.data() + 1;
  const std::int64_t* const subsizes = sizes + dimensions;
  const std::int64_t* const starts = subsizes + dimensions;
  const bool c_order = contents.integers[static_cast<std::size_t>(1 + 3 * dimensions)] == MPI_ORDER_C;
  const std::int64_t extent = extent_of(contents.types[0]);
  std::vector<std::int64_t> step(static_cast<std::size_t>(dimensions)), at(static_cast<std::size_t>(dimensions));
  std::vector<int> order(static_cast<std::size_t>(dimensions));  // The innermost dimension is the first.
  std::int64_t planes = 1, begin = 0, stride = extent;
  for (int inner = 0; inner < dimensions; ++inner) {
    const int dimension = c_order ? dimensions - 1 - inner : inner;
    order[static_cast<std::size_t>(inner)] = dimension;
    step[static_cast<std::size_t>(inner)] = stride;
    begin += starts[dimension] * stride;
    stride *= sizes[dimension];
    if (inner > 1) planes *= subsizes[dimension];
  }
  if (!add(line, element, {0, subsizes[order[0]], extent})) return false;
  join(line);
  const std::int64_t lines = dimensions > 1 ? subsizes[order[1]] : 1, apart = dimensions > 1 ? step[1] : 0;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    std::int64_t rest = plane, offset = begin;
    for (std::size_t inner = 2; inner < order.size(); ++inner) {
      offset += rest % subsizes[order[inner]] * step[inner];
      rest /= subsizes[order[inner]];
    }
    if (!add(pieces, line, {offset, lines, apart})) return false;
  }
  return true;
}

// Adds blocks of one type, whose lengths and places are functions of their index.
template <class Length, class PlaceOf>
bool add_blocks(const TypeContents& contents, std::vector<Pieces>& pieces, Length length, PlaceOf place) {
  std::vector<Pieces> element;
  if (!flatten_element(contents.types[0], element)) return false;
  const std::int64_t extent = extent_of(contents.types[0]);
  for (std::size_t block = 0; block < static_cast<std::size_t>(contents.integers[0]); ++block) {
    if (!add(pieces, element, {place(block, extent), length(block), extent})) return false;
  }
  return true;
}

bool add_struct(const TypeContents& contents, std::vector<Pieces>& pieces) {
  const auto count = static_cast<std::size_t>(contents.integers[0]);
  std::vector<Pieces> element;
  std::int64_t extent = 0;
  for (std::size_t block = 0; block < count; ++block) {
    if (block == 0 || contents.types[block] != contents.types[block - 1]) {
      element.clear();
      if (!flatten_element(contents.types[block], element)) return false;
      extent = extent_of(contents.types[block]);
    }
    if (!add(pieces, element, {contents.addresses[block], contents.integers[1 + block], extent})) return false;
  }
  return true;
}

bool add_predefined(MPI_Datatype type, std::vector<Pieces>& pieces) {
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_true_extent(type, &lower, &extent);
  const std::uint64_t bytes = size_of(type);
  if (static_cast<std::uint64_t>(extent) == bytes) {
    if (bytes > 0) pieces.push_back({lower, bytes});
    return true;
  }
  // The type is a value and an int, as in a struct of C: MPI_SHORT_INT.
  constexpr std::uint64_t kInt = sizeof(int);
  const std::uint64_t value = bytes - kInt, place = (value + kInt - 1) / kInt * kInt;
  if (bytes <= kInt || lower != 0 || static_cast<std::uint64_t>(extent) != place + kInt) return false;
  pieces.push_back({0, value});
  pieces.push_back({static_cast<std::int64_t>(place), kInt});
  return true;
}

bool flatten_into(MPI_Datatype type, std::vector<Pieces>& pieces) {
  const TypeContents contents(type, work);
  const auto& integers = contents.integers;
  const auto& addresses = contents.addresses;
  if (is_predefined(contents.combiner)) return add_predefined(type, pieces);
  const std::size_t count = integers.empty() ? 0 : static_cast<std::size_t>(integers[0]);
  const auto second = [&](std::size_t) { return integers[1]; };
  const auto listed = [&](std::size_t block) { return integers[1 + block]; };
  const auto in_extents = [&](std::size_t from) {
    return [&integers, from](std::size_t block, std::int64_t extent) { return integers[from + block] * extent; };
  };
  const auto in_bytes = [&](std::size_t block, std::int64_t) { return addresses[block]; };
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return flatten_into(contents.types[0], pieces);
    case MPI_COMBINER_CONTIGUOUS: return add_line(contents, pieces, {1, integers[0], 0});
    case MPI_COMBINER_VECTOR: return add_line(contents, pieces, {integers[0], integers[1], integers[2] * extent_of(contents.types[0])});
    case MPI_COMBINER_HVECTOR: return add_line(contents, pieces, {integers[0], integers[1], addresses[0]});
    case MPI_COMBINER_INDEXED: return add_blocks(contents, pieces, listed, in_extents(1 + count));
    case MPI_COMBINER_HINDEXED: return add_blocks(contents, pieces, listed, in_bytes);
    case MPI_COMBINER_INDEXED_BLOCK: return add_blocks(contents, pieces, second, in_extents(2));
    case MPI_COMBINER_HINDEXED_BLOCK: return add_blocks(contents, pieces, second, in_bytes);
    case MPI_COMBINER_STRUCT: return add_struct(contents, pieces);
    case MPI_COMBINER_SUBARRAY: return add_subarray(contents, pieces);
    default: return false;
  }
}

// Returns whether MPI confirms where the data lie. Open MPI 4 mistakes a stride of -1 byte for another value.
bool lies_so(MPI_Datatype type, const std::vector<Pieces>& pieces) {
  std::int64_t lowest = INT64_MAX, end = INT64_MIN;
  for (const Pieces& one : pieces) {
    const std::int64_t last = one.offset + static_cast<std::int64_t>(one.count - 1) * one.stride;
    lowest = std::min({lowest, one.offset, last});
    end = std::max(end, std::max(one.offset, last) + static_cast<std::int64_t>(one.bytes));
  }
  MPI_Aint lower = 0, extent = 0;
  return pmpi().Type_get_true_extent(type, &lower, &extent) == MPI_SUCCESS && lower == lowest && extent == end - lowest;
}

}  // namespace

Flattened flatten(MPI_Datatype type, Effort effort) {
  auto layout = std::make_shared<Layout>();
  something_untold = false;
  layout->element_bytes = size_of(type);
  work = {effort == Effort::any ? kAnyWork : kLittleWork + layout->element_bytes / kBytesCopiedMeanwhile};
  most_pieces = layout->element_bytes < kLong ? kMostPieces : kMostOfLong;
  if (!flatten_into(type, layout->pieces)) return {nullptr, work.exceeded};
  join(layout->pieces);
  layout->extent = extent_of(type);
  if (something_untold || !lies_so(type, layout->pieces)) return {};
  std::uint64_t found = 0;
  for (const Pieces& one : layout->pieces) found += one.bytes * one.count;
  return {found == layout->element_bytes && found > 0 ? layout : nullptr};
}

const Layout* layout_of_predefined(MPI_Datatype type) {
  static std::mutex mutex;
  static auto& known = *new std::vector<std::pair<MPI_Datatype, std::shared_ptr<const Layout>>>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& [of, layout] : known) {
    if (of == type) return layout.get();
  }
  known.emplace_back(type, flatten(type, Effort::any).layout);
  return known.back().second.get();
}

}  // namespace crossrail::mpi
