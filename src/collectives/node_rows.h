// NodeRows: the blocks of a v-collective between the ranks of one node, through its segment.
//
// Nobody knows the counts of others, and nobody asks: a receiver knows how long its own block is, and
// the sender tells it where to look. A sender's row takes one of three forms, told by its flags:
//
//   uniform packets   all blocks equally long: block i at i x length of a stream of packets
//   uniform bulk      block i at i x length of the sender's bulk region
//   slots             one packet for every receiver: how long its block is, its first bytes, and
//                     where the rest lies, in the bulk region or in its owner's memory
//
// Blocks longer than `longest_staged` are read from their owner's memory where that is allowed on
// the communicator, otherwise they are messages: both ends know. Empty blocks cost nothing: nobody
// looks for them, and a rank waits for nobody else.
#pragma once

#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

class NodeRows {
 public:
  // Parameters: packet, direct. Errors: no_memory.
  Status plan(const Plan& plan);
  // This rank's blocks for its node leave ...
  Status publish(Plan& plan, const Buffers& buffers);
  // ... those of the others for this rank come ...
  Status fetch(Plan& plan, const Buffers& buffers);
  // ... and nobody reads this rank's own memory any more.
  Status finish(Plan& plan);
  // Whether a block between two different ranks of the node goes as a message.
  bool is_message(const Plan& plan, std::size_t bytes) const { return bytes > longest_ && !plan.topology->single_copy; }

 private:
  enum class Form { none, uniform_packets, uniform_bulk, slot, mismatch };
  static constexpr std::size_t kInlineBytes = Packet::kPayloadBytes - 2 * sizeof(std::uint64_t);
  struct Slot {
    std::uint64_t bytes;
    std::uint64_t place;  // of the rest in the region; of long blocks, in their owner's memory
    std::byte data[kInlineBytes];
  };
  static_assert(sizeof(Slot) == Packet::kPayloadBytes);
  struct Row {
    bool uniform = true;
    bool in_order = false;  // uniform, and one block after the other, this rank's own too
    bool has_long = false;
    std::size_t bytes = 0;   // of every block where uniform
    std::size_t total = 0;   // to be staged
    std::uint64_t base = 0;  // of the send side as peers read it, where there are long blocks
  };
  std::uint64_t uniform_flag(std::size_t bytes) const {
    return flag_ ^ ((static_cast<std::uint64_t>(bytes) + 1) * 0x9e3779b97f4a7c15u) >> (64 - ControlBlock::kHashBits);
  }
  std::uint64_t slot_flag() const { return flag_ ^ 0x5851u; }
  // Slots for every rank of the node, then the stream.
  Packet* slots_of(ControlBlock& control, int peer) const { return control.packets(epoch_ & 1, peer, stride_); }
  Packet* stream_of(ControlBlock& control, int peer) const { return slots_of(control, peer) + ranks_; }

  Row measure(const Plan& plan, const Buffers& buffers);
  Status offer_long(Plan& plan, const Buffers& buffers, Row& row);
  void write_uniform_packets(Plan& plan, const Buffers& buffers, const Row& row);
  void write_uniform_bulk(Plan& plan, const Buffers& buffers, std::size_t bytes);
  void write_slots(Plan& plan, const Buffers& buffers, std::uint64_t base);
  Form form_of(ControlBlock& control, int peer, std::size_t bytes) const;
  bool sends_nothing(ControlBlock& control, int peer, std::size_t bytes) const;
  bool copy_if_there(const Packet* stream, std::size_t at, const Block& block, std::byte* recv) const;
  Status fetch_from(Plan& plan, const Buffers& buffers, int peer);
  Status fetch_slot(Plan& plan, const Buffers& buffers, int peer);

  std::size_t ranks_ = 0;         // of the node
  std::vector<int> rank_of_;      // written out: rows are short, and looked up again and again
  std::size_t packet_bytes_ = 0;  // longest row in packets
  std::size_t stride_ = 0;        // packets of one rank
  std::size_t longest_ = 0;       // block that is staged
  std::uint64_t epoch_ = 0;
  std::uint64_t flag_ = 0;
  bool offered_ = false;
  std::vector<std::uint8_t> readers_[2];  // of this rank's blocks, by half
};

}  // namespace crossrail
