// These tests move elements of datatypes to rows, back, and to where others lie, and compare with a host loop. They also move ranges of elements, all
// units, and many in one launch.

#include <memory>
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

// Returns where each byte of all elements lies, in order.
std::vector<std::size_t> places_of(const Type& type, std::uint64_t elements) {
  std::vector<std::size_t> places;
  for (std::uint64_t i = 0; i < elements; ++i) {
    for (const crossrail_segment& segment : type.segments) {
      for (std::uint64_t byte = 0; byte < segment.bytes; ++byte) {
        places.push_back(static_cast<std::size_t>(static_cast<std::int64_t>(i) * type.extent + segment.offset) + byte);
      }
    }
  }
  return places;
}

bool is_even(const Type& type) {
  const auto& all = type.segments;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].bytes != all[0].bytes || all[i].offset != all[0].offset + static_cast<std::int64_t>(i) * (all.back().offset - all[0].offset) /
                                                             std::max<std::int64_t>(1, static_cast<std::int64_t>(all.size()) - 1)) {
      return false;
    }
  }
  return true;
}

// The elements are told as a list, or as runs where `as_runs` is set and it is possible.
crossrail_elements elements_of(const Type& type, char* at, std::uint64_t first, bool as_runs) {
  static std::uint64_t layout = 0;
  const auto& all = type.segments;
  if (as_runs && is_even(type)) {
    return {at, bytes_of(type), type.extent, first, nullptr, 0, 0, {all[0].offset, all[0].bytes, all.size() > 1 ? all[1].offset - all[0].offset : 0}};
  }
  return {at, bytes_of(type), type.extent, first, all.data(), all.size(), ++layout, {}};
}

crossrail_elements row_of(char* at) { return {at, 0, 0, 0, nullptr, 0, 0, {}}; }

void move(Queue& queue, const std::vector<crossrail_movement>& all) {
  const crossrail_movements asked{work_of(CROSSRAIL_WORK_MOVE, queue.flag(), ++queue.value), all.data(), static_cast<int>(all.size())};
  enqueue(queue, asked, "move");
  expect(queue.await(queue.value), "the end of movements is not told");
}

struct Range {
  std::uint64_t first, bytes;
};

void run(Queue& queue, const Type& type, std::uint64_t elements, Range range) {
  const std::size_t room = static_cast<std::size_t>(type.extent) * elements + 64;
  Memory spread(0, room), row(far_device(), range.bytes + 64);
  const Bytes image = pattern(room, 3);
  const std::vector<std::size_t> places = places_of(type, elements);
  Bytes expected(row.bytes, kPoison), scattered(room, kPoison);
  for (std::uint64_t at = 0; at < range.bytes; ++at) {
    const std::size_t place = places[range.first + at];
    expected[at] = scattered[place] = image[place];
  }
  for (const bool as_runs : {false, true}) {
    spread.fill(image);
    row.fill(kPoison);
    move(queue, {{elements_of(type, spread.at, range.first, as_runs), row_of(row.at), range.bytes}});
    expect(row.read() == expected, "pack %s, %llu bytes from %llu", type.name, static_cast<unsigned long long>(range.bytes),
           static_cast<unsigned long long>(range.first));
    spread.fill(kPoison);
    move(queue, {{row_of(row.at), elements_of(type, spread.at, range.first, as_runs), range.bytes}});
    expect(spread.read() == scattered, "unpack %s, %llu bytes from %llu", type.name, static_cast<unsigned long long>(range.bytes),
           static_cast<unsigned long long>(range.first));
  }
}

// Moves straight from one layout to another, as many bytes as both have. There are `count` such movements at a time, of different lengths.
void run_straight(Queue& queue, const Type& source, const Type& target, int count) {
  std::vector<std::unique_ptr<Memory>> from, to;
  std::vector<Bytes> expected;
  std::vector<crossrail_movement> all;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t elements = 1 + static_cast<std::uint64_t>(i * i % 3), bytes = bytes_of(source) * bytes_of(target) * elements;
    const std::uint64_t sources = bytes_of(target) * elements, targets = bytes_of(source) * elements;
    const Bytes image = pattern(static_cast<std::size_t>(source.extent) * sources + 64, static_cast<unsigned>(i));
    from.push_back(std::make_unique<Memory>(0, image.size()));
    from.back()->fill(image);
    to.push_back(std::make_unique<Memory>(far_device(), static_cast<std::size_t>(target.extent) * targets + 64));
    to.back()->fill(kPoison);
    Bytes& right = expected.emplace_back(to.back()->bytes, kPoison);
    const std::vector<std::size_t> source_places = places_of(source, sources), target_places = places_of(target, targets);
    const std::uint64_t moved = i % 3 == 2 ? bytes / 2 : bytes;
    for (std::uint64_t at = 0; at < moved; ++at) right[target_places[at]] = image[source_places[at]];
    all.push_back({elements_of(source, from.back()->at, 0, i % 2 == 0), elements_of(target, to.back()->at, 0, i % 2 == 1), moved});
    if (i % 4 == 3) all.push_back({row_of(from.back()->at), row_of(to.back()->at), 0});
  }
  move(queue, all);
  for (int i = 0; i < count; ++i) {
    expect(to[static_cast<std::size_t>(i)]->read() == expected[static_cast<std::size_t>(i)], "from %s to %s, number %d of %d", source.name, target.name, i, count);
  }
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

void test_movement() {
  Queue queue(0);
  const Type types[] = {vector_type("vector of 16", 48, 112), vector_type("vector of 8", 24, 40), vector_type("vector of 4", 4, 12),
                        vector_type("vector of 2", 6, 10),    vector_type("vector of 1", 5, 7),   ragged_type("ragged of 16", 16),
                        ragged_type("ragged of 8", 8),        ragged_type("ragged of 1", 1),
                        {"contiguous", {{0, 32}}, 32},        {"backwards", {{64, 16}, {32, 16}, {0, 16}}, 96}};
  for (const Type& type : types) {
    for (const std::uint64_t elements : {1, 3, 200}) {
      const std::uint64_t all = bytes_of(type) * elements;
      run(queue, type, elements, {0, all});
      run(queue, type, elements, {all / 3, all / 2});
      run(queue, type, elements, {all / 32 * 16, 16});
    }
  }
  for (const Type& source : types) {
    for (const Type& target : types) run_straight(queue, source, target, 2);
  }
  run_straight(queue, types[0], types[2], 17);  // This is more than one launch carries.
  run_straight(queue, types[5], types[4], 40);
  move(queue, {});
}

}  // namespace module_test
