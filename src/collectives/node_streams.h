// NodeStreams moves long blocks between ranks of one node in chunks through the bulk regions of the segment, which the processors' caches hold. Data
// are copied twice, without a system call or additional memory. It is used for what peers cannot read directly from their owner's memory: datatypes
// with gaps, nodes where single copy is not allowed, and calls in place, where a block is overwritten chunk by chunk as it leaves.
//
// A rank's bulk region has a share for every peer: two counters, then a ring of chunks.
//
// Blocks that peers read from their owner's memory may turn out to be unreadable in any call: a process may have changed its user, or the system its
// policy. A rank that cannot read a block asks for it through the counter of chunks taken, and it comes in chunks as well.
#pragma once

#include <span>
#include <vector>

#include "collectives/algorithm.h"
#include "comm/layout.h"

namespace crossrail {

class NodeStreams {
 public:
  // Returns the bytes of a share. Blocks that are not streamed may use all of it.
  static std::size_t share_bytes(const ControlBlockLayout& layout);
  // Errors: no_memory.
  Status plan(const Plan& plan);
  // Begins a round of the slot in this half. With `in_place`, what is sent to a peer lies where that peer's block goes.
  enum class Sides : std::uint8_t { apart, in_place };
  void begin(ControlBlock& control, int half, Sides sides);
  // Sends the block for a peer (its node rank). When it returns, the first chunks are there and can be announced to the peer.
  void send(Plan& plan, int peer, const Part& part);
  // Offers a block that the peer reads where it lies. It is called before the
  // peer learns the address, and the block must stay until `serve` has returned.
  void offer(int peer, const Part& part);
  // Receives the block of a peer that has announced it.
  void receive(int peer, const Part& part);
  // Fetches a block that a peer has offered at `address` of its memory, through the caches if it has gaps at its destination. Errors: peer_lost.
  Status fetch(Links& links, int peer, const Part& part, std::uint64_t address);
  // Moves chunks until all have been sent and received. It counts them in `plan`.
  Status finish(Plan& plan);
  // Serves until `has_read(peer)` is true of all peers to which a block was offered, because they may ask for it.
  template <class HasRead>
  Status serve(Plan& plan, HasRead has_read) {
    for (std::size_t i = 0; i < offered_count_; ++i) {
      const int peer = offered_[i];
      while (!has_read(peer)) {
        CROSSRAIL_TRY(finish(plan));
        CROSSRAIL_TRY(control_->await(peer, [&] { return has_read(peer) || any_asked(); }));
      }
    }
    return {};
  }

 private:
  struct Lines;
  struct Way {
    Part part;
    std::uint64_t chunks = 0, moved = 0;  // They count the block's chunks.
    bool done() const { return moved == chunks; }
  };
  Lines& lines_of(int owner, int peer) const;
  std::byte* chunk(int owner, int peer, std::uint64_t number) const;
  std::uint64_t chunks_in(std::size_t bytes) const { return (bytes + chunk_bytes_ - 1) / chunk_bytes_; }
  std::size_t length(const Way& way, std::uint64_t number) const;
  std::uint64_t can_send(int peer) const;     // It may send up to this chunk.
  std::uint64_t can_receive(int peer) const;  // It may receive up to this chunk.
  bool push(Plan& plan, int peer);
  bool pull(int peer);
  bool any_can_move() const;
  bool asked(int peer) const;
  bool any_asked() const;
  void send_what_is_asked(Plan& plan);
  void activate(int peer);
  void begin_lines(int peer);  // It marks the lines of what goes to the peer.
  std::span<const int> active() const { return {active_.data(), active_count_}; }

  ControlBlock* control_ = nullptr;
  int half_ = 0;
  bool in_place_ = false;
  std::size_t share_bytes_ = 0, chunk_bytes_ = 0;
  std::uint64_t ring_ = 0;       // It counts chunks.
  std::vector<Way> out_, in_;    // The index is the node rank.
  std::vector<int> active_;      // They are the node ranks that have a block, in the first entries.
  std::size_t active_count_ = 0;
  std::vector<Part> offers_;     // The index is the node rank.
  std::vector<int> offered_;     // They are the peers to which blocks were offered, in the first entries.
  std::size_t offered_count_ = 0;
};

}  // namespace crossrail
