// NodeRows: the blocks of a v-collective between the ranks of one node, through its segment.
//
// Nobody knows the counts of others, and nobody asks: a receiver knows how long its own block is, and
// the sender tells it where to look. A sender's row takes one of four forms, told by its flag:
//
//   uniform packets   all blocks equally long: block i at i x length of a stream of packets
//   packets           the stream begins with a table of {where, how long}
//   uniform bulk      block i at i x length of the sender's bulk region
//   bulk              the region begins with a table; long blocks are read from their owner's memory
//
// Blocks longer than `longest_staged` are read with one copy where that is allowed on the
// communicator, otherwise they are messages: both ends know. Empty blocks cost nothing: nobody looks
// for them, and a rank waits for nobody else.
#pragma once

#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

class NodeRows {
 public:
  // Parameters: packet (longest row that travels in packets, 1024), direct (longest block that is
  // staged, 8192). Errors: no_memory.
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
  enum class Form { none, uniform_packets, packets, uniform_bulk, bulk, mismatch };
  struct Entry {
    std::uint64_t bytes;
    std::uint64_t place;  // in the region; of long blocks, in their owner's memory
  };
  struct Row {
    bool uniform = true;
    bool has_long = false;
    std::size_t bytes = 0;  // of every block where uniform
    std::size_t total = 0;  // to be staged
    std::uint64_t base = 0;  // of the send side as peers read it, where there are long blocks
  };
  std::uint64_t uniform_flag(std::size_t bytes) const {
    return flag_ ^ static_cast<std::uint32_t>((bytes + 1) * 0x9e3779b1u);
  }
  std::uint64_t table_flag() const { return flag_ ^ 0x5851f42du; }
  Packet* packets_of(NodeBoard& board, int peer) const { return board.packets(epoch_ & 1, peer, stride_); }

  Row measure(const Plan& plan, const Buffers& buffers);
  Status offer_long(Plan& plan, const Buffers& buffers, Row& row);
  void write_uniform_packets(Plan& plan, const Buffers& buffers, std::size_t bytes);
  void write_packets_with_table(Plan& plan, const Buffers& buffers);
  void write_bulk(Plan& plan, const Buffers& buffers, const Row& row);
  Form form_of(NodeBoard& board, int peer, std::size_t bytes) const;
  Status fetch_from(Plan& plan, const Buffers& buffers, int peer);
  Status fetch_bulk(Plan& plan, const Buffers& buffers, int peer);

  std::size_t packet_bytes_ = 0;   // longest row in packets
  std::size_t header_packets_ = 0; // of a table
  std::size_t stride_ = 0;         // packets of one rank
  std::size_t longest_ = 0;        // block that is staged
  std::uint64_t epoch_ = 0;
  std::uint64_t flag_ = 0;
  bool offered_ = false;
  std::vector<bool> readers_[2];   // of this rank's blocks, by half
};

}  // namespace crossrail
