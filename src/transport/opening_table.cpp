#include "transport/opening_table.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/fiber.h"

namespace crossrail {
namespace {

// The word for the first call may hold one of these instead of a number.
constexpr std::uint64_t kUndecided = 0;
constexpr std::uint64_t kDeciding = ~std::uint64_t{0};
constexpr std::uint64_t kNever = kDeciding - 1;

// The state of a rank that has finished is one of these.
constexpr std::uint64_t kAble = 1, kUnable = 2;

constexpr std::uint64_t kNoText = ~std::uint64_t{0};

struct TextPlace {
  std::uint64_t offset, length;
};

}  // namespace

std::size_t OpeningTable::bytes(int ranks) {
  return kCacheLineBytes + static_cast<std::size_t>(ranks) * sizeof(RankLines) + kTextBytes;
}

void OpeningTable::leave(const void* record, std::size_t bytes) {
  ++round_;
  std::memcpy(mine().record[round_ & 1], record, bytes);
  mine().round.store(round_, std::memory_order_release);
}

bool OpeningTable::all_left() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (lines(rank).round.load(std::memory_order_acquire) < round_) return false;
  }
  return true;
}

void OpeningTable::read(void* records, std::size_t bytes) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    std::memcpy(static_cast<std::byte*>(records) + static_cast<std::size_t>(rank) * bytes, lines(rank).record[round_ & 1], bytes);
  }
}

bool OpeningTable::keep_text(const std::string& text, std::uint64_t& offset) {
  if (text.size() > kTextBytes - text_end_) return false;
  offset = text_end_;
  std::memcpy(texts() + offset, text.data(), text.size());
  text_end_ += text.size();
  return true;
}

std::string OpeningTable::text_at(std::uint64_t offset, std::uint64_t length) const {
  return {reinterpret_cast<const char*>(texts() + offset), static_cast<std::size_t>(length)};
}

// All accesses are sequentially consistent. Therefore, of two ranks that finish, one sees the other. And a rank that begins a call is seen by the
// rank that decides, or sees itself that a decision is being made.
void OpeningTable::finish(bool able, std::uint64_t calls_begun) {
  mine().begun.store(calls_begun);
  mine().state.store(able ? kAble : kUnable);
  std::uint64_t undecided = kUndecided;
  if (!able) (void)first_call().compare_exchange_strong(undecided, kNever);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (lines(rank).state.load() != kAble) return;
  }
  if (!first_call().compare_exchange_strong(undecided, kDeciding)) return;
  std::uint64_t last = 0;
  for (int rank = 0; rank < ranks_; ++rank) last = std::max(last, lines(rank).begun.load());
  first_call().store(last + 1);
}

std::uint64_t OpeningTable::decision() {
  std::uint64_t first = first_call().load();
  for (; first == kDeciding; first = first_call().load()) sched_yield();
  return first;
}

bool OpeningTable::carries(std::uint64_t call) {
  mine().begun.store(call);
  const std::uint64_t first = decision();
  return first != kUndecided && first != kNever && first <= call;
}

bool OpeningTable::decided() const {
  const std::uint64_t first = first_call().load();
  return first != kUndecided && first != kDeciding;
}

bool OpeningTable::carries_none() const { return first_call().load() == kNever; }

bool TableExchange::gather_bytes(const void* mine, void* all, std::size_t bytes) {
  if (bytes > OpeningTable::kMostRecordBytes || given_up()) return false;
  table_.leave(mine, bytes);
  if (!table_.all_left()) await_all();
  if (given_up()) return false;
  table_.read(all, bytes);
  return true;
}

void FiberExchange::await_all() {
  fiber_.wait_until([this] { return cancelled_ || table().all_left(); });
}

bool TableExchange::broadcast(std::string& text) {
  TextPlace mine{0, text.size()};
  if (table_.rank() == 0 && !table_.keep_text(text, mine.offset)) mine.offset = kNoText;
  std::vector<TextPlace> places;
  if (!gather(mine, places) || places[0].offset == kNoText) return false;
  text = table_.text_at(places[0].offset, places[0].length);
  return true;
}

bool TableExchange::all(bool mine) {
  std::vector<std::uint8_t> answers;
  return gather(static_cast<std::uint8_t>(mine ? 1 : 0), answers) && std::find(answers.begin(), answers.end(), 0) == answers.end();
}

}  // namespace crossrail
