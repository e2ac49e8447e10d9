#include "mpi/buffers/layouts.h"

#include <atomic>
#include <memory>
#include <numeric>

#include "mpi/buffers/datatypes.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostSegments = std::size_t{1} << 20;
using Segments = std::vector<crossrail_segment>;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_extent(type, &lower, &extent);
  return extent;
}

// What a constructor was called with.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;

  explicit Contents(MPI_Datatype type) {
    int integer_count = 0, address_count = 0, type_count = 0;
    (void)pmpi().Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner);
    if (is_predefined(combiner)) return;
    integers.resize(static_cast<std::size_t>(integer_count) + 1);
    addresses.resize(static_cast<std::size_t>(address_count) + 1);
    types.resize(static_cast<std::size_t>(type_count) + 1, handles().type_null);
    if (pmpi().Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(), types.data()) != MPI_SUCCESS) {
      combiner = MPI_UNDEFINED;
    }
  }
  Contents(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& part : types) {
      if (part != handles().type_null && !is_predefined(combiner_of(part))) (void)pmpi().Type_free(&part);
    }
  }
};

// Copies of an element, one `extent` after the other.
struct Copies {
  std::int64_t at;
  std::int64_t count;
  std::int64_t extent;
};

bool add(Segments& segments, const Segments& element, const Copies& copies) {
  for (std::int64_t copy = 0; copy < copies.count; ++copy) {
    for (const crossrail_segment& one : element) {
      const std::int64_t offset = copies.at + copy * copies.extent + one.offset;
      if (!segments.empty() && segments.back().offset + static_cast<std::int64_t>(segments.back().bytes) == offset) {
        segments.back().bytes += one.bytes;
        continue;
      }
      if (segments.size() == kMostSegments) return false;
      segments.push_back({offset, one.bytes});
    }
  }
  return true;
}

bool flatten(MPI_Datatype type, Segments& segments);

// The lines of a subarray, the last dimension of C's order innermost.
bool add_subarray(const Contents& contents, const Segments& element, Segments& segments) {
  const int dimensions = contents.integers[0];
  const int* const sizes = contents.integers.data() + 1;
  const int* const subsizes = sizes + dimensions;
  const int* const starts = subsizes + dimensions;
  const bool c_order = contents.integers[static_cast<std::size_t>(1 + 3 * dimensions)] == MPI_ORDER_C;
  const std::int64_t extent = extent_of(contents.types[0]);
  std::vector<std::int64_t> step(static_cast<std::size_t>(dimensions)), at(static_cast<std::size_t>(dimensions));
  std::vector<int> order(static_cast<std::size_t>(dimensions));  // innermost first
  std::int64_t lines = 1, begin = 0, stride = extent;
  for (int inner = 0; inner < dimensions; ++inner) {
    const int dimension = c_order ? dimensions - 1 - inner : inner;
    order[static_cast<std::size_t>(inner)] = dimension;
    step[static_cast<std::size_t>(inner)] = stride;
    begin += starts[dimension] * stride;
    stride *= sizes[dimension];
    if (inner > 0) lines *= subsizes[dimension];
  }
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t rest = line, offset = begin;
    for (std::size_t inner = 1; inner < order.size(); ++inner) {
      offset += rest % subsizes[order[inner]] * step[inner];
      rest /= subsizes[order[inner]];
    }
    if (!add(segments, element, {offset, subsizes[order[0]], extent})) return false;
  }
  return true;
}

// Blocks of one type, of lengths and places by number.
template <class Length, class PlaceOf>
bool add_blocks(const Contents& contents, Segments& segments, Length length, PlaceOf place) {
  Segments element;
  if (!flatten(contents.types[0], element)) return false;
  const std::int64_t extent = extent_of(contents.types[0]);
  for (int block = 0; block < contents.integers[0]; ++block) {
    if (!add(segments, element, {place(block, extent), length(block), extent})) return false;
  }
  return true;
}

bool add_struct(const Contents& contents, Segments& segments) {
  const auto count = static_cast<std::size_t>(contents.integers[0]);
  for (std::size_t block = 0; block < count; ++block) {
    Segments element;
    if (!flatten(contents.types[block], element)) return false;
    if (!add(segments, element, {contents.addresses[block], contents.integers[1 + block], extent_of(contents.types[block])})) return false;
  }
  return true;
}

bool add_predefined(MPI_Datatype type, Segments& segments) {
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_true_extent(type, &lower, &extent);
  const std::uint64_t bytes = size_of(type);
  if (static_cast<std::uint64_t>(extent) != bytes) return false;  // MPI_SHORT_INT: a gap that nothing describes
  return bytes == 0 || add(segments, {{lower, bytes}}, {0, 1, 0});
}

bool flatten(MPI_Datatype type, Segments& segments) {
  const Contents contents(type);
  const auto& integers = contents.integers;
  const auto& addresses = contents.addresses;
  if (is_predefined(contents.combiner)) return add_predefined(type, segments);
  const std::size_t count = integers.empty() ? 0 : static_cast<std::size_t>(integers[0]);
  const auto one = [](int) { return 1; };
  const auto second = [&](int) { return integers[1]; };
  const auto listed = [&](int block) { return integers[1 + static_cast<std::size_t>(block)]; };
  const auto in_extents = [&](std::size_t from) {
    return [&integers, from](int block, std::int64_t extent) { return integers[from + static_cast<std::size_t>(block)] * extent; };
  };
  const auto in_bytes = [&](int block, std::int64_t) { return addresses[static_cast<std::size_t>(block)]; };
  Segments element;
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return flatten(contents.types[0], segments);
    case MPI_COMBINER_CONTIGUOUS: return add_blocks(contents, segments, one, [](int block, std::int64_t extent) { return block * extent; });
    case MPI_COMBINER_VECTOR: return add_blocks(contents, segments, second, [&](int block, std::int64_t extent) { return std::int64_t{block} * integers[2] * extent; });
    case MPI_COMBINER_HVECTOR: return add_blocks(contents, segments, second, [&](int block, std::int64_t) { return block * addresses[0]; });
    case MPI_COMBINER_INDEXED: return add_blocks(contents, segments, listed, in_extents(1 + count));
    case MPI_COMBINER_HINDEXED: return add_blocks(contents, segments, listed, in_bytes);
    case MPI_COMBINER_INDEXED_BLOCK: return add_blocks(contents, segments, second, in_extents(2));
    case MPI_COMBINER_HINDEXED_BLOCK: return add_blocks(contents, segments, second, in_bytes);
    case MPI_COMBINER_STRUCT: return add_struct(contents, segments);
    case MPI_COMBINER_SUBARRAY: return flatten(contents.types[0], element) && add_subarray(contents, element, segments);
    default: return false;
  }
}

std::unique_ptr<DeviceLayout> make_layout(MPI_Datatype type) {
  static std::atomic<std::uint64_t> layouts{0};
  auto layout = std::make_unique<DeviceLayout>();
  if (!flatten(type, layout->segments)) return nullptr;
  layout->id = ++layouts;
  layout->element_bytes = size_of(type);
  layout->extent = extent_of(type);
  const std::uint64_t found = std::accumulate(layout->segments.begin(), layout->segments.end(), std::uint64_t{0},
                                              [](std::uint64_t sum, const crossrail_segment& one) { return sum + one.bytes; });
  return found == layout->element_bytes && found > 0 ? std::move(layout) : nullptr;
}

int forget_layout(MPI_Datatype, int, void* value, void*) {
  delete static_cast<DeviceLayout*>(value);
  return MPI_SUCCESS;
}

int layout_keyval() {
  static const int keyval = make_type_keyval(forget_layout);
  return keyval;
}

}  // namespace

const DeviceLayout* layout_of(MPI_Datatype type) {
  void* value = nullptr;
  int found = 0;
  if (pmpi().Type_get_attr(type, layout_keyval(), &value, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<const DeviceLayout*>(value);
  std::unique_ptr<DeviceLayout> layout = make_layout(type);
  if (pmpi().Type_set_attr(type, layout_keyval(), layout.get()) != MPI_SUCCESS) return nullptr;
  return layout.release();
}

}  // namespace crossrail::mpi
