// An OpeningTable is memory in which the ranks of a node open a communicator between calls that may not wait for other ranks. It works in rounds:
// every rank leaves a record, and reads those of the others once all are there. At the end the ranks agree on the first call that crossrail handles,
// which is one that no rank has begun.
//
//   offset 0    first call, nonce of SharedMemory
//   then        one RankLines a rank
//   then        rank 0's texts, one after the other
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "transport/exchange.h"

namespace crossrail {

class Fiber;

class OpeningTable {
 public:
  static constexpr std::size_t kMostRecordBytes = 192;
  static constexpr std::size_t kTextBytes = 128 * 1024;
  static std::size_t bytes(int ranks);
  // `memory` has bytes(ranks) bytes. They are zero when the first rank comes, except for what SharedMemory keeps there.
  OpeningTable(std::byte* memory, int rank, int ranks) : memory_(memory), rank_(rank), ranks_(ranks) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // Leaves this rank's record of the next round. It may be called only after all records of the round before have been read.
  void leave(const void* record, std::size_t bytes);
  // Returns whether all ranks have left their records of this round.
  bool all_left() const;
  // Reads the records of this round, in rank order.
  void read(void* records, std::size_t bytes) const;
  // Rank 0 keeps a text for all and gets its offset. Returns false if there is no room.
  bool keep_text(const std::string& text, std::uint64_t& offset);
  std::string text_at(std::uint64_t offset, std::uint64_t length) const;

  // This rank has done its part. From now on it could handle calls or, if not `able`,
  // never will. It has begun `calls_begun` calls so far, none of which it handles.
  void finish(bool able, std::uint64_t calls_begun);

  // This rank, which has finished, begins its call number `call` (from 1). Returns whether all ranks handle that call and those after it. All ranks
  // get the same answer for the same call. It waits for another rank only while that one executes a few instructions.
  bool carries(std::uint64_t call);
  // decided() returns whether there is a decision. carries_none() may be called only then.
  bool decided() const;
  bool carries_none() const;

 private:
  using Word = std::atomic<std::uint64_t>;
  struct alignas(kCacheLineBytes) RankLines {
    Word round, begun, state;
    std::byte record[2][kMostRecordBytes];
  };
  Word& first_call() const { return *reinterpret_cast<Word*>(memory_ + sizeof(std::uint64_t)); }
  RankLines& lines(int rank) const {
    return *reinterpret_cast<RankLines*>(memory_ + kCacheLineBytes + static_cast<std::size_t>(rank) * sizeof(RankLines));
  }
  RankLines& mine() const { return lines(rank_); }
  std::byte* texts() const { return reinterpret_cast<std::byte*>(&lines(ranks_)); }
  std::uint64_t decision();

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::uint64_t round_ = 0;
  std::uint64_t text_end_ = 0;
};

// A TableExchange exchanges through an OpeningTable. Its subclasses say how a rank waits for the others.
class TableExchange : public Exchange {
 public:
  explicit TableExchange(OpeningTable& table) : Exchange(table.ranks()), table_(table) {}
  bool broadcast(std::string& text) override;
  bool all(bool mine) override;

 protected:
  bool gather_bytes(const void* mine, void* all, std::size_t bytes) override;
  OpeningTable& table() const { return table_; }
  // Returns when all ranks have left their records of this round, or when the exchange is given up.
  virtual void await_all() = 0;
  // Returns whether this rank has given up.
  virtual bool given_up() const = 0;

 private:
  OpeningTable& table_;
};

// This one waits on a fiber that is resumed when there is time. `cancelled` ends every wait.
class FiberExchange final : public TableExchange {
 public:
  FiberExchange(OpeningTable& table, Fiber& fiber, const bool& cancelled) : TableExchange(table), fiber_(fiber), cancelled_(cancelled) {}
  bool in_blocking_call() const override { return false; }

 protected:
  void await_all() override;
  bool given_up() const override { return cancelled_; }

 private:
  Fiber& fiber_;
  const bool& cancelled_;
};

}  // namespace crossrail
