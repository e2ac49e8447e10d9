// In OpeningTable records go round, and all ranks hear of the same first call, however far they are apart.

#include "transport/opening_table.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/fiber.h"

namespace crossrail {
namespace {

constexpr int kCalls = 60;

struct Memory {
  explicit Memory(int ranks) : words(OpeningTable::bytes(ranks) / sizeof(CacheLine)) {}
  struct alignas(kCacheLineBytes) CacheLine {
    std::byte bytes[kCacheLineBytes];
  };
  std::byte* data() { return words.data()->bytes; }
  std::vector<CacheLine> words;
};

// A rank does this when it opens: it makes a few exchanges, each of which waits for all.
struct Rank {
  Rank(Memory& memory, int number, int ranks) : table(memory.data(), number, ranks), number_(number) {}
  OpeningTable table;
  Fiber fiber;
  bool cancelled = false;
  bool able = true;
  bool opened = false;

  static void open(void* rank) {
    auto& mine = *static_cast<Rank*>(rank);
    FiberExchange exchange(mine.table, mine.fiber, mine.cancelled);
    mine.opened = mine.exchange_all(exchange);
  }
  bool exchange_all(Exchange& exchange) {
    for (int round = 0; round < 5; ++round) {
      std::vector<int> numbers;
      if (!exchange.gather(100 * round + number_, numbers)) return false;
      for (int other = 0; other < table.ranks(); ++other) EXPECT_EQ(numbers[static_cast<std::size_t>(other)], 100 * round + other);
      std::string text = number_ == 0 ? "text " + std::to_string(round) : "of another rank";
      if (!exchange.broadcast(text)) return false;
      EXPECT_EQ(text, "text " + std::to_string(round));
    }
    return exchange.all(able);
  }

 private:
  int number_;
};

// Each rank makes its calls in its own time, and opens meanwhile. Returns the first call that it carries, or kCalls + 1 if it carries none.
std::uint64_t make_calls(Rank& rank, unsigned seed) {
  std::mt19937 random(seed);
  const auto begins = static_cast<std::uint64_t>(random() % 5);  // It hears of the table then.
  std::uint64_t first = kCalls + 1;
  bool finished = false;
  for (std::uint64_t call = 1; call <= kCalls; ++call) {
    if (call == begins + 1) rank.fiber.start(Rank::open, &rank);
    if (call > begins && !finished) {
      rank.fiber.resume();
      finished = rank.fiber.finished();
      if (finished) rank.table.finish(rank.opened, call - 1);
    }
    if (finished && rank.table.carries(call)) {
      first = std::min(first, call);
    } else {
      EXPECT_EQ(first, kCalls + 1) << "carried before, not any more";
    }
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    if (random() % 4 == 0) std::this_thread::yield();
  }
  rank.cancelled = true;
  rank.fiber.resume();
  EXPECT_TRUE(rank.fiber.finished());
  return first;
}

std::vector<std::uint64_t> first_calls(int ranks, unsigned seed, int unable = -1) {
  Memory memory(ranks);
  std::vector<std::unique_ptr<Rank>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<Rank>(memory, rank, ranks));
    all.back()->able = rank != unable;
  }
  std::vector<std::uint64_t> first(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { first[static_cast<std::size_t>(rank)] = make_calls(*all[static_cast<std::size_t>(rank)], seed + 1000 * static_cast<unsigned>(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

TEST(OpeningTable, all_ranks_carry_from_the_same_call_on) {
  int carried = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    for (const int ranks : {1, 2, 3, 5}) {
      const std::vector<std::uint64_t> first = first_calls(ranks, seed);
      // A rank may have ended all its calls before the others had opened. They carry none, or later ones.
      for (const std::uint64_t one : first) EXPECT_EQ(one, first[0]) << "seed " << seed << ", " << ranks << " ranks";
      carried += first[0] <= kCalls ? 1 : 0;
    }
  }
  EXPECT_GT(carried, 0);
}

TEST(OpeningTable, carries_nothing_where_one_cannot) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const std::uint64_t one : first_calls(3, seed, static_cast<int>(seed % 3))) EXPECT_EQ(one, kCalls + 1);
  }
}

// One rank comes after the other on one thread. The last that finishes decides, behind all calls that have begun.
TEST(OpeningTable, first_call_is_one_that_nobody_has_begun) {
  Memory memory(3);
  OpeningTable first(memory.data(), 0, 3), second(memory.data(), 1, 3), third(memory.data(), 2, 3);
  first.finish(true, 4);
  second.finish(true, 2);
  EXPECT_FALSE(first.carries(5));
  EXPECT_FALSE(first.carries(6));
  EXPECT_FALSE(second.carries(3));
  EXPECT_FALSE(first.decided());
  third.finish(true, 1);
  EXPECT_TRUE(first.decided());
  EXPECT_FALSE(first.carries_none());
  for (const std::uint64_t call : {2, 3, 4, 5, 6}) EXPECT_FALSE(third.carries(call));
  for (OpeningTable* one : {&first, &second, &third}) EXPECT_TRUE(one->carries(7));
}

TEST(OpeningTable, one_that_cannot_decides_at_once) {
  Memory memory(2);
  OpeningTable first(memory.data(), 0, 2), second(memory.data(), 1, 2);
  second.finish(false, 2);
  EXPECT_TRUE(first.decided());
  first.finish(true, 9);
  EXPECT_TRUE(first.carries_none());
  EXPECT_FALSE(first.carries(10));
}

TEST(OpeningTable, a_text_without_room_is_refused_on_all_ranks) {
  for (const std::size_t bytes : {OpeningTable::kTextBytes, OpeningTable::kTextBytes + 1}) {
    struct Teller {
      Teller(Memory& where, int number, std::size_t length) : table(where.data(), number, 2), text(length, 'x') {}
      OpeningTable table;
      std::string text;
      Fiber fiber;
      bool cancelled = false, heard = false;
    };
    Memory fresh(2);
    Teller zero(fresh, 0, bytes), one(fresh, 1, 3);
    for (Teller* teller : {&zero, &one}) {
      teller->fiber.start(
          [](void* argument) {
            auto& mine = *static_cast<Teller*>(argument);
            FiberExchange exchange(mine.table, mine.fiber, mine.cancelled);
            mine.heard = exchange.broadcast(mine.text);
          },
          teller);
    }
    zero.fiber.resume();
    for (Teller* teller : {&zero, &one}) {
      EXPECT_TRUE(teller->fiber.finished());
      EXPECT_EQ(teller->heard, bytes <= OpeningTable::kTextBytes);
    }
    EXPECT_EQ(one.text == zero.text, bytes <= OpeningTable::kTextBytes);
  }
}

}  // namespace
}  // namespace crossrail
