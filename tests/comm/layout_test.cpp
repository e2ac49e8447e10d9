// These tests compare layouts with their definition, byte by byte in the order of the pieces.

#include "comm/layout.h"

#include <gtest/gtest.h>

#include <random>

#include "comm/buffers.h"

namespace crossrail {
namespace {

// Returns where every byte of an element lies.
std::vector<std::int64_t> places_of(const std::vector<Pieces>& pieces) {
  std::vector<std::int64_t> places;
  for (const Pieces& one : pieces) {
    for (std::uint64_t piece = 0; piece < one.count; ++piece) {
      for (std::uint64_t byte = 0; byte < one.bytes; ++byte) {
        places.push_back(one.offset + static_cast<std::int64_t>(piece) * one.stride + static_cast<std::int64_t>(byte));
      }
    }
  }
  return places;
}

std::vector<Pieces> random_pieces(std::mt19937_64& random) {
  std::vector<Pieces> pieces;
  std::int64_t at = static_cast<std::int64_t>(random() % 5);
  const std::uint64_t kinds = 1 + random() % 6;
  constexpr std::uint64_t kBytes[] = {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 100};
  for (std::uint64_t kind = 0; kind < kinds; ++kind) {
    const std::uint64_t bytes = kBytes[random() % std::size(kBytes)], count = 1 + random() % 5;
    const auto stride = static_cast<std::int64_t>(bytes + random() % 3 * (random() % 9));
    const bool backwards = random() % 4 == 0;
    const std::int64_t span = stride * static_cast<std::int64_t>(count);
    pieces.push_back({backwards ? at + span - stride : at, bytes, count, backwards ? -stride : stride});
    at += span + static_cast<std::int64_t>(random() % 2 * (random() % 20));
  }
  return pieces;
}

std::shared_ptr<Layout> random_layout(std::mt19937_64& random) {
  auto layout = std::make_shared<Layout>();
  layout->pieces = random_pieces(random);
  join(layout->pieces);
  const std::vector<std::int64_t> places = places_of(layout->pieces);
  layout->element_bytes = places.size();
  layout->extent = *std::max_element(places.begin(), places.end()) + 1 + static_cast<std::int64_t>(random() % 10);
  return layout;
}

TEST(Layout, joining_changes_no_byte) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Pieces> pieces = random_pieces(random);
    const std::vector<std::int64_t> before = places_of(pieces);
    join(pieces);
    ASSERT_EQ(places_of(pieces), before);
    std::uint64_t at = 0;
    for (const Pieces& one : pieces) {
      ASSERT_EQ(one.at, at);
      at += one.bytes * one.count;
    }
  }
}

TEST(Layout, what_is_regular_becomes_one_line) {
  std::vector<Pieces> pieces;
  for (std::int64_t piece = 0; piece < 1000; ++piece) pieces.push_back({piece * 24, 8});
  join(pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].count, 1000u);
  EXPECT_EQ(pieces[0].stride, 24);
  for (std::int64_t piece = 0; piece < 10; ++piece) pieces.push_back({24'000 + piece * 8, 8});
  join(pieces);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].bytes, 80u);
}

TEST(Layout, any_stretch_is_copied_both_ways) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const auto layout = random_layout(random);
    const std::size_t elements = 1 + random() % 5, all = elements * layout->element_bytes;
    const std::vector<std::int64_t> places = places_of(layout->pieces);
    std::vector<std::byte> memory(elements * static_cast<std::size_t>(layout->extent) + 1000);
    for (std::byte& one : memory) one = static_cast<std::byte>(random());
    const std::size_t at = random() % all, bytes = random() % (all - at + 1);
    const auto place = [&](std::size_t byte) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(byte / places.size()) * layout->extent + places[byte % places.size()]);
    };
    std::vector<std::byte> row(bytes + 1, std::byte{0x5A});
    const Part part{memory.data(), layout.get(), 0, all};
    part.take(row.data(), at, bytes);
    for (std::size_t byte = 0; byte < bytes; ++byte) ASSERT_EQ(row[byte], memory[place(at + byte)]);
    ASSERT_EQ(row[bytes], std::byte{0x5A});
    std::vector<std::byte> expected = memory;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      row[byte] = static_cast<std::byte>(random());
      expected[place(at + byte)] = row[byte];
    }
    part.put(row.data(), at, bytes);
    ASSERT_EQ(memory, expected);
  }
}

TEST(Layout, parts_of_unlike_layouts_are_copied) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto from = random_layout(random), to = random_layout(random);
    const std::size_t elements = 200 + random() % 200;
    const std::size_t bytes = std::min(from->element_bytes, to->element_bytes) * elements;
    std::vector<std::byte> source(elements * static_cast<std::size_t>(from->extent) + 1000), target(elements * static_cast<std::size_t>(to->extent) + 1000);
    for (std::byte& one : source) one = static_cast<std::byte>(random());
    copy_part({target.data(), to.get(), 0, bytes}, {source.data(), from.get(), 0, bytes});
    std::vector<std::byte> sent(bytes), received(bytes);
    from->gather(sent.data(), source.data(), 0, bytes);
    to->gather(received.data(), target.data(), 0, bytes);
    ASSERT_EQ(sent, received);
  }
}

TEST(Layout, parts_of_one_layout_are_copied_piece_by_piece) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto layout = random_layout(random);
    const std::size_t elements = 1 + random() % 50, all = elements * layout->element_bytes;
    const std::size_t begin = random() % all, bytes = random() % (all - begin + 1);
    std::vector<std::byte> source(elements * static_cast<std::size_t>(layout->extent) + 1000);
    for (std::byte& one : source) one = static_cast<std::byte>(random());
    std::vector<std::byte> target(source.size(), std::byte{0x5A}), expected = target;
    copy_part({target.data(), layout.get(), begin, bytes}, {source.data(), layout.get(), begin, bytes});
    std::vector<std::byte> row(bytes);
    layout->gather(row.data(), source.data(), begin, bytes);
    layout->scatter(expected.data(), row.data(), begin, bytes);
    ASSERT_EQ(target, expected);
  }
}

TEST(Layout, devices_get_the_same_pieces) {
  std::mt19937_64 random(4);
  const auto layout = random_layout(random);
  const auto device = for_devices(*layout);
  std::vector<std::int64_t> places;
  for (const crossrail_segment& one : device->segments) {
    for (std::uint64_t byte = 0; byte < one.bytes; ++byte) places.push_back(one.offset + static_cast<std::int64_t>(byte));
  }
  EXPECT_EQ(places, places_of(layout->pieces));
  EXPECT_EQ(device->extent, layout->extent);
}

}  // namespace
}  // namespace crossrail
