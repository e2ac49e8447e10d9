// NodeRows moves the blocks of a v-collective between the ranks of one node, through its segment.
//
// No rank knows the counts of others, and none asks: a receiver knows how long its own block is, and the sender tells it where to look. A sender's
// row has one of three forms, which its flags announce:
//
//   uniform packets   all blocks have the same length: block i is at i x length of a stream of packets
//   uniform bulk      block i is at i x length of the sender's bulk region
//   slots             there is one packet for every receiver: how long its block is, its first bytes, and
//                     where the rest lies, in the bulk region or in its owner's memory
//
// Blocks longer than `longest_` are read from their owner's memory or come in chunks (NodeStreams); the slot says which. Empty blocks cost nothing:
// no rank looks for them or waits for them. A receiver that expects more than is sent gets what is sent, as in an MPI library.
//
// A rooted collective is one in which all other blocks are empty. Ranks that disagree about the root
// must not mistake this for a block of which nothing has come. Therefore a rank that may be waited
// for stays, and a receiver waits until it is told, or until it hears that the calls do not match.
#pragma once

#include <vector>

#include "collectives/algorithm.h"
#include "collectives/node_streams.h"

namespace crossrail {

class NodeRows {
 public:
  // It reads the parameters packet and direct. Errors: no_memory.
  Status plan(const Plan& plan);
  // Sends this rank's blocks to its node.
  Status publish(Plan& plan, const Buffers& buffers);
  // Receives this rank's blocks from the others. When it returns, no rank reads this rank's memory any more. A rank that may not read it asks for its
  // block and does nothing else until the block has come.
  Status fetch(Plan& plan, const Buffers& buffers);

 private:
  // This is the form of a block as its receiver finds it. Unlike means another form or length than expected, or no block at all.
  enum class Form { none, uniform_packets, uniform_bulk, slot, unlike };
  static constexpr std::uint64_t kStreamed = ~std::uint64_t{0};  // It is a value of Slot::place.
  static constexpr std::uint64_t kUnequal = ~std::uint64_t{0};   // It is a value of RowForm::bytes.
  static constexpr std::size_t kInlineBytes = Packet::kPayloadBytes - 2 * sizeof(std::uint64_t);
  struct Slot {
    std::uint64_t bytes;
    std::uint64_t place;  // It is the place of the rest in the share; for long blocks, it is their address in their owner's memory or kStreamed.
    std::byte data[kInlineBytes];
  };
  static_assert(sizeof(Slot) == Packet::kPayloadBytes);
  struct Row {
    bool uniform = true;
    bool in_order = false;  // The blocks are uniform and contiguous, including this rank's own.
    bool has_long = false;  // Some blocks are long.
    bool offers = false;    // Peers read some of them themselves.
    bool gaps = false;
    std::size_t bytes = 0;   // It is the size of every block if they are uniform.
    std::size_t total = 0;   // So many bytes are staged.
    std::size_t next = 0;    // It is the next free place in the bulk region.
    std::uint64_t base = 0;  // It is the address of the send side as peers read it, if there are long blocks.
  };
  std::uint64_t uniform_flag(std::size_t bytes) const {
    return flag_ ^ ((static_cast<std::uint64_t>(bytes) + 1) * 0x9e3779b97f4a7c15u) >> (64 - ControlBlock::kHashBits);
  }
  std::uint64_t slot_flag() const { return flag_ ^ 0x5851u; }
  // Returns whether peers read this long block where it lies.
  bool offered(const Plan& plan, const Buffers& buffers, const Block& block) const {
    return block.bytes > longest_ && block.layout == nullptr && !buffers.in_place && plan.topology->single_copy;
  }
  // A rank has slots for every rank of the node, and then the stream.
  Packet* slots_of(ControlBlock& control, int peer) const { return control.packets(epoch_ & 1, peer, stride_); }
  Packet* stream_of(ControlBlock& control, int peer) const { return slots_of(control, peer) + ranks_; }

  Row measure(const Plan& plan, const Buffers& buffers);
  void keep_for_root(const Plan& plan);
  Status offer_long(Plan& plan, const Buffers& buffers, Row& row);
  void write_uniform_packets(Plan& plan, const Buffers& buffers, const Row& row);
  void write_uniform_bulk(Plan& plan, const Buffers& buffers, std::size_t bytes);
  void write_slot(Plan& plan, const Buffers& buffers, std::size_t peer, Row& row);
  void say_form(ControlBlock& control, const Row& row);
  Form form_of(ControlBlock& control, int peer, std::size_t bytes) const;
  Form look_for(ControlBlock& control, int peer, std::size_t bytes) const;
  bool copy_if_there(const Packet* stream, std::size_t at, const Block& block, std::byte* recv) const;
  Status fetch_from(Plan& plan, const Buffers& buffers, int peer);
  Status fetch_slot(Plan& plan, const Buffers& buffers, int peer);
  Status fetch_unlike(Plan& plan, const Buffers& buffers, int peer);
  Status fetch_uniform(ControlBlock& control, int peer, const Part& to) const;
  Status await_readers(Plan& plan);

  std::size_t ranks_ = 0;         // It counts the ranks of the node.
  std::vector<int> rank_of_;      // It is a table because rows are short and ranks are looked up again and again.
  std::size_t packet_bytes_ = 0;  // No longer row travels in packets.
  std::size_t stride_ = 0;        // It counts the packets of one rank.
  std::size_t longest_ = 0;       // No longer block is staged.
  bool rooted_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t flag_ = 0;
  bool offered_ = false;
  NodeStreams streams_;
  std::vector<std::uint8_t> readers_[2];  // For each half, they are the readers of this rank's blocks.
};

}  // namespace crossrail
