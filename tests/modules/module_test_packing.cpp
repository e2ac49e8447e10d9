// Elements of datatypes to rows and back, against a host loop; ranges of rows; all units.

#include <numeric>

#include "module_test.h"

namespace module_test {
namespace {

struct Type {
  const char* name;
  std::vector<crossrail_segment> segments;
  std::int64_t extent;
};

std::uint64_t bytes_of(const Type& type) {
  return std::accumulate(type.segments.begin(), type.segments.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const crossrail_segment& one) { return sum + one.bytes; });
}

// The bytes of the row in order: where each lies.
template <class Each>
void walk(const Type& type, std::uint64_t elements, Each each) {
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    for (const crossrail_segment& segment : type.segments) {
      for (std::uint64_t byte = 0; byte < segment.bytes; ++byte) {
        each(at++, static_cast<std::size_t>(static_cast<std::int64_t>(i) * type.extent + segment.offset) + byte);
      }
    }
  }
}

struct Range {
  std::uint64_t first, bytes;
};

void run(Queue& queue, const Type& type, std::uint64_t elements, Range range) {
  static std::uint64_t layout = 0;
  const std::uint64_t element_bytes = bytes_of(type);
  const std::size_t room = static_cast<std::size_t>(type.extent) * elements + 64;
  Memory spread(0, room), row(0, range.bytes + 64);
  const Bytes image = pattern(room, 3);
  Bytes expected(row.bytes, kPoison), scattered(room, kPoison);
  walk(type, elements, [&](std::uint64_t at, std::size_t place) {
    if (at < range.first || at >= range.first + range.bytes) return;
    expected[at - range.first] = image[place];
    scattered[place] = image[place];
  });
  spread.fill(image);
  row.fill(kPoison);
  crossrail_packing packing{type.segments.data(), type.segments.size(), ++layout, element_bytes, type.extent, spread.at, row.at,
                            range.first, range.bytes, 0, nullptr};
  require(module->pack(queue, &packing), "pack");
  require(module->drain(queue), "drain");
  expect(row.read() == expected, "pack %s, %llu bytes from %llu", type.name, static_cast<unsigned long long>(range.bytes),
         static_cast<unsigned long long>(range.first));
  spread.fill(kPoison);
  packing.unpack = 1;
  require(module->pack(queue, &packing), "unpack");
  require(module->drain(queue), "drain");
  expect(spread.read() == scattered, "unpack %s, %llu bytes from %llu", type.name,
         static_cast<unsigned long long>(range.bytes), static_cast<unsigned long long>(range.first));
}

Type vector_type(const char* name, std::uint64_t bytes, std::int64_t stride) {
  Type type{name, {}, 20 * stride};
  for (int i = 0; i < 17; ++i) type.segments.push_back({i * stride, bytes});
  return type;
}

Type ragged_type(const char* name, std::uint64_t unit) {
  Type type{name, {}, 0};
  std::int64_t at = static_cast<std::int64_t>(unit);
  for (std::uint64_t i = 0; i < 41; ++i) {
    const std::uint64_t bytes = unit * (1 + i * 7 % 5);
    type.segments.push_back({at, bytes});
    at += static_cast<std::int64_t>(bytes + unit * (i % 3));
  }
  type.extent = at + static_cast<std::int64_t>(unit);
  return type;
}

}  // namespace

void test_packing() {
  Queue queue(0);
  const Type types[] = {vector_type("vector of 16", 48, 112), vector_type("vector of 8", 24, 40), vector_type("vector of 4", 4, 12),
                        vector_type("vector of 2", 6, 10),    vector_type("vector of 1", 5, 7),   ragged_type("ragged of 16", 16),
                        ragged_type("ragged of 8", 8),        ragged_type("ragged of 1", 1),
                        {"contiguous", {{0, 32}}, 32},        {"backwards", {{64, 16}, {32, 16}, {0, 16}}, 96}};
  for (const Type& type : types) {
    for (const std::uint64_t elements : {1, 3, 500}) {
      const std::uint64_t all = bytes_of(type) * elements;
      run(queue, type, elements, {0, all});
      run(queue, type, elements, {all / 3, all / 2});
      run(queue, type, elements, {all / 32 * 16, 16});
    }
  }
}

}  // namespace module_test
