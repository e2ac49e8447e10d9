#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace crossrail {
namespace {

constexpr std::size_t kNearlyAll = MemoryReserve::kBytes - 2 * MemoryReserve::kAlignment;

struct Piece {
  unsigned char* at;
  std::size_t bytes;
  unsigned char value;

  void fill() const { std::memset(at, value, bytes); }
  bool is_whole() const { return std::all_of(at, at + bytes, [this](unsigned char one) { return one == value; }); }
};

Piece take(std::size_t bytes, unsigned char value) {
  const Piece piece{static_cast<unsigned char*>(MemoryReserve::take(bytes)), bytes, value};
  if (piece.at != nullptr) piece.fill();
  return piece;
}

bool all_is_free() {
  void* const whole = MemoryReserve::take(kNearlyAll);
  if (whole != nullptr) MemoryReserve::give_back(whole);
  return whole != nullptr;
}

TEST(MemoryReserve, GivesPiecesThatDoNotOverlap) {
  std::mt19937 random(7);
  std::vector<Piece> taken;
  std::size_t refused = 0;
  for (int round = 0; round < 6000; ++round) {
    if (random() % 5 < 2 && !taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      ASSERT_TRUE(taken.back().is_whole());
      MemoryReserve::give_back(taken.back().at);
      taken.pop_back();
      continue;
    }
    const Piece piece = take(random() % (random() % 9 == 0 ? 90'000 : 500), static_cast<unsigned char>(random()));
    if (piece.at == nullptr) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(MemoryReserve::holds(piece.at) && MemoryReserve::holds(piece.at + piece.bytes - (piece.bytes > 0 ? 1 : 0)));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(piece.at) % MemoryReserve::kAlignment, 0u);
    taken.push_back(piece);
  }
  for (const Piece& piece : taken) {
    EXPECT_TRUE(piece.is_whole());
    MemoryReserve::give_back(piece.at);
  }
  EXPECT_GT(refused, 0u) << "it never was full";
  EXPECT_TRUE(all_is_free());
}

TEST(MemoryReserve, RefusesWhatItDoesNotHave) {
  EXPECT_EQ(MemoryReserve::take(MemoryReserve::kBytes), nullptr);
  EXPECT_EQ(MemoryReserve::take(~std::size_t{0}), nullptr);
  EXPECT_EQ(MemoryReserve::take(1, 2 * MemoryReserve::kAlignment), nullptr);
  void* const first = MemoryReserve::take(kNearlyAll / 2);
  EXPECT_EQ(MemoryReserve::take(kNearlyAll), nullptr);
  MemoryReserve::give_back(first);
  int outside = 0;
  EXPECT_FALSE(MemoryReserve::holds(&outside));
  EXPECT_TRUE(all_is_free());
}

TEST(MemoryReserve, ServesThreads) {
  std::vector<std::thread> threads;
  for (unsigned char number = 0; number < 4; ++number) {
    threads.emplace_back([number] {
      for (int round = 0; round < 2000; ++round) {
        const Piece piece = take(100 + 3 * number, number);
        ASSERT_NE(piece.at, nullptr);
        ASSERT_TRUE(piece.is_whole());
        MemoryReserve::give_back(piece.at);
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_TRUE(all_is_free());
}

}  // namespace
}  // namespace crossrail
