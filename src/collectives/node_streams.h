// NodeStreams: long blocks between ranks of one node, in chunks through the bulk regions of the segment, which the processors'
// caches hold: copied twice, without a system call and without memory beside. For what peers cannot read straight from
// their owner's memory: datatypes with gaps, nodes where single copy is not allowed; and in place, where a block is
// overwritten chunk by chunk as it leaves.
//
// A rank's bulk region has a share for every peer: two counters, then a ring of chunks.
//
// Blocks that peers read from their owner's memory may turn out not to be readable, on any call: processes may have changed their user,
// or the system its mind. Who cannot read one asks for it, by the counter of chunks taken, and it comes in chunks as well.
#pragma once

#include <span>
#include <vector>

#include "collectives/algorithm.h"
#include "comm/layout.h"

namespace crossrail {

class NodeStreams {
 public:
  // Bytes of a share, of which blocks that are no streams may use all.
  static std::size_t share_bytes(const ControlBlockLayout& layout);
  // Errors: no_memory.
  Status plan(const Plan& plan);
  // A round of the slot, in this half. `in_place`: what is sent to a peer lies where that peer's block goes.
  enum class Sides : std::uint8_t { apart, in_place };
  void begin(ControlBlock& control, int half, Sides sides);
  // The block for a peer (its node rank): its first chunks are there when this returns, to be announced to the peer.
  void send(Plan& plan, int peer, const Part& part);
  // A block that the peer is to read where it lies, before he is told where that is. It must stay until `serve` has returned.
  void offer(int peer, const Part& part);
  // The block of a peer who has announced it.
  void receive(int peer, const Part& part);
  // One that a peer has offered at `address` of its memory; by way of the caches if it has gaps where it goes. Errors: peer_lost.
  Status fetch(Links& links, int peer, const Part& part, std::uint64_t address);
  // Moves until all have gone and come. `plan` is for what is counted.
  Status finish(Plan& plan);
  // Until `has_read(peer)` is true of all to whom a block was offered: they may ask for it.
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
    std::uint64_t chunks = 0, moved = 0;  // of the block
    bool done() const { return moved == chunks; }
  };
  Lines& lines_of(int owner, int peer) const;
  std::byte* chunk(int owner, int peer, std::uint64_t number) const;
  std::uint64_t chunks_in(std::size_t bytes) const { return (bytes + chunk_bytes_ - 1) / chunk_bytes_; }
  std::size_t length(const Way& way, std::uint64_t number) const;
  std::uint64_t can_send(int peer) const;     // up to which chunk
  std::uint64_t can_receive(int peer) const;  // likewise
  bool push(Plan& plan, int peer);
  bool pull(int peer);
  bool any_can_move() const;
  bool asked(int peer) const;
  bool any_asked() const;
  void send_what_is_asked(Plan& plan);
  void activate(int peer);
  void begin_lines(int peer);  // of what goes to the peer
  std::span<const int> active() const { return {active_.data(), active_count_}; }

  ControlBlock* control_ = nullptr;
  int half_ = 0;
  bool in_place_ = false;
  std::size_t share_bytes_ = 0, chunk_bytes_ = 0;
  std::uint64_t ring_ = 0;       // chunks
  std::vector<Way> out_, in_;    // by node rank
  std::vector<int> active_;      // node ranks with a block, the first so many
  std::size_t active_count_ = 0;
  std::vector<Part> offers_;     // by node rank
  std::vector<int> offered_;     // to whom, the first so many
  std::size_t offered_count_ = 0;
};

}  // namespace crossrail
