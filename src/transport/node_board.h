// NodeBoard: the node's shared segment, laid out. Every rank of the node owns a few cache lines of
// flags and one region in each of two alternating halves.
//
//   header | lines of rank 0, 1, ... | packet half 0, 1 | bulk half 0, 1 | DeviceBoard's part
//
// Halves and epochs. One epoch is one round in which every rank writes its region of half
// (epoch mod 2), flags it, and waits for the flag of every other rank. Nobody can start epoch e+2
// before all have flagged e+1, that is finished reading e: so no closing barrier is needed. Rounds
// in which a rank does not wait for all (v-collectives with empty blocks) leave that open; `settle`
// makes up for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/links.h"

namespace crossrail {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
using Word = std::atomic<std::uint64_t>;

// What a rank hangs out when it enters a call: written by its owner, read by peers that have
// waited too long and ask why. Two, by parity of the call.
struct alignas(kCacheLineBytes) Door {
  Word call;   // number of the call on this communicator; written last
  Word shape;  // hash of the Shape
  Word bytes;  // bytes of a block, for the message about a mismatch
};

// Blocks that peers may read straight from their owner's memory.
struct alignas(kCacheLineBytes) Offer {
  Word flag;     // of the epoch; written last
  Word address;  // of the send buffer, in its owner's memory
};

struct alignas(kCacheLineBytes) FlagLine {
  Word word[2];  // by parity
};

// A flag that only goes on: of the last epoch in which its owner came to some point.
struct alignas(kCacheLineBytes) MarkLine {
  Word flag;
};

struct RankLines {
  Door door[2];
  Offer offer[2];     // single copy: by parity of the epoch
  FlagLine staged;    // bulk region of this epoch is filled
  FlagLine finished;  // single copy: this rank has read all it needs in this epoch
  FlagLine agreed;    // status of a plan
  MarkLine entered;   // this rank has read all it needed in the epochs before
  MarkLine met;       // has come to `meet`
  MarkLine fetched;   // single copy of a v-collective: has read what it needed from the others
  // Schemes with leaders (collectives/leader.h).
  MarkLine counted;   // the counts of a v-collective are in the node's memory
  MarkLine filled;    // the blocks are in the node's memory
  MarkLine arrived;   // what other nodes sent in this step is in the node's memory
  MarkLine copied;    // this rank has copied its blocks of this step
};

// 56 bytes of payload and a flag that says for which epoch and shape they are. Packet memory only
// ever holds packets, so that user data can never be taken for a flag.
struct alignas(kCacheLineBytes) Packet {
  static constexpr std::size_t kPayloadBytes = kCacheLineBytes - sizeof(Word);
  std::byte payload[kPayloadBytes];
  Word flag;
};
static_assert(sizeof(Packet) == kCacheLineBytes);

struct NodeBoardLayout {
  int node_size = 1;
  std::size_t packet_count = 0;  // packets of one rank in one half
  std::size_t bulk_bytes = 0;    // bulk region of one rank in one half
  std::size_t total_bytes() const;
};

// The largest layout within `scratch_bytes`, but no more than is useful.
NodeBoardLayout node_board_layout(int node_size, std::uint64_t scratch_bytes);

class NodeBoard {
 public:
  struct Placement {
    std::byte* segment;
    NodeBoardLayout layout;
    const std::vector<int>* node_ranks;  // communicator ranks of this node, ascending
    int node_rank;
    bool oversubscribed;
    std::uint64_t patience_ms;
  };
  NodeBoard(const Placement& placement, Links& links);

  int node_rank() const { return placement_.node_rank; }
  int node_size() const { return placement_.layout.node_size; }
  int rank_of(int node_rank) const { return (*placement_.node_ranks)[node_rank]; }
  const NodeBoardLayout& layout() const { return placement_.layout; }

  std::byte* device_region() const { return device_region_; }

  RankLines& lines(int node_rank) { return lines_[node_rank]; }
  RankLines& my_lines() { return lines_[placement_.node_rank]; }
  // Packets of a half lie close together: `stride` packets for every rank.
  Packet* packets(int half, int node_rank, std::size_t stride) {
    return packets_[half] + static_cast<std::size_t>(node_rank) * stride;
  }
  std::byte* bulk(int half, int node_rank) {
    return bulk_[half] + static_cast<std::size_t>(node_rank) * placement_.layout.bulk_bytes;
  }

  // Entering a call: hangs out the door. Every call on the communicator, native ones too.
  void enter(std::uint64_t shape_hash, std::uint64_t block_bytes) {
    Door& door = my_lines().door[++call_ & 1];
    door.call.store(0, std::memory_order_relaxed);  // until it is complete
    door.shape.store(shape_hash, std::memory_order_release);
    door.bytes.store(block_bytes, std::memory_order_release);
    door.call.store(call_, std::memory_order_release);
    shape_hash_ = shape_hash;
  }

  std::uint64_t next_epoch() {
    my_lines().entered.flag.store(++epoch_ << 32, std::memory_order_release);
    return epoch_;
  }
  // Before this rank writes into a half in `epoch`: that no rank still reads what it wrote there two
  // epochs ago. Free of cost where this rank has seen all others' flags in the epoch before.
  Status settle(std::uint64_t epoch) {
    half_user_[epoch & 1] = 0;
    return seen_all_ + 1 == epoch ? Status{} : settle_with_all(epoch);
  }
  // The same for a plan (by its number) whose regions never move: two epochs ago `readers` alone were
  // to read what this rank wrote, if that was the same plan.
  Status settle_for(std::uint64_t epoch, std::uint64_t plan, const std::vector<std::uint8_t>& readers);
  // This rank has seen the flags of all others for `epoch`; of one other.
  void seen_all(std::uint64_t epoch) { seen_all_ = epoch; }
  void seen(int peer, std::uint64_t epoch) { seen_[peer] = epoch; }

  // Marks: `mine` has come to `epoch` of this call; wait until that of `peer` has. A peer that has gone
  // on to a later epoch, of another call perhaps, has been there; at this one, its Shape must be ours.
  void mark(MarkLine& mine, std::uint64_t epoch) { mine.flag.store(flag(epoch), std::memory_order_release); }
  Status await_mark(int peer, MarkLine RankLines::*line, std::uint64_t epoch) {
    const Word& word = (lines(peer).*line).flag;
    const std::uint64_t wanted = flag(epoch);
    return await(peer, [&] {
      const std::uint64_t its = word.load(std::memory_order_acquire);
      return its == wanted || reached(its, epoch + 1);
    });
  }
  Status await_marks(MarkLine RankLines::*line, std::uint64_t epoch);
  // Nobody leaves before all ranks of the node have come.
  Status meet();

  // Where the node's first rank leaves a message of a few bytes for the others, between agreements.
  static constexpr std::size_t kMailboxBytes = 2 * kCacheLineBytes;
  std::byte* mailbox();
  // The flag of an epoch of the present call. Unequal for unequal shapes.
  std::uint64_t flag(std::uint64_t epoch) const { return epoch << 32 | (shape_hash_ & 0xffffffffu); }

  // Returns when `ready()` is true, or says which peer of the node keeps us waiting and why.
  template <class Ready>
  Status await(int peer, Ready ready) {
    for (int spin = 0; spin < first_spins_; ++spin) {
      if (ready()) return {};
      relax();
    }
    Patience patience;
    while (!ready()) CROSSRAIL_TRY(pause(peer, patience));
    return {};
  }

  // For waits outside the board that have lost patience: whether a rank of the node has met an
  // error, or is in this call with another shape.
  Status look();

  // Worst code over the ranks of the node.
  Status agree(Code mine, Code& worst);

  // After an error nobody can trust the epochs: tells all ranks of the node to stop using them.
  void break_up(Code code);
  bool broken_up() { return broken().load(std::memory_order_relaxed) != 0; }
  // The error of the call that this rank is in, if another rank has met one there; ok if the error
  // was in a call before.
  Status broken_in_this_call();

 private:
  struct Patience {
    int pauses = 0;
    std::int64_t began_ns = 0;
    std::int64_t looked_ns = 0;
    bool suspected = false;
  };
  static void relax();
  // Epochs are compared by their low 32 bits, which may wrap.
  static bool reached(std::uint64_t flag, std::uint64_t epoch) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(flag >> 32) - static_cast<std::uint32_t>(epoch)) >= 0;
  }
  Status settle_with(int peer, std::uint64_t epoch);
  Status settle_with_all(std::uint64_t epoch);
  Status pause(int peer, Patience& patience);
  Status diagnose(int peer, Patience& patience);
  Status look_at(int peer, std::uint64_t& its_call);
  Word& broken();

  Placement placement_;
  Links& links_;
  RankLines* lines_;
  Packet* packets_[2];
  std::byte* bulk_[2];
  std::byte* device_region_;
  int first_spins_;
  std::uint64_t call_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t seen_all_ = 0;
  std::vector<std::uint64_t> seen_;  // by node rank
  std::uint64_t half_user_[2] = {};  // number of the plan that wrote there last; 0: whoever
  std::uint64_t agreement_ = 0;
  std::uint64_t shape_hash_ = 0;
};

}  // namespace crossrail
