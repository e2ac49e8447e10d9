// These functions send the blocks of a v-collective as messages. Both ranks of a pair know whether their block is empty, because MPI obliges them to
// agree on that. The receiver may expect more than is sent.
#pragma once

#include <algorithm>

#include "collectives/throttle.h"

namespace crossrail::alltoallv {

// Sends whole pieces and then the rest, which may be empty. Thus a receiver sees where a block ends, whatever it expects.
inline Status send_block(Plan& plan, const Buffers& buffers, int destination, std::size_t piece = Links::kMostPiece) {
  const Block& block = buffers.out[destination];
  std::byte* const from = moved(const_cast<std::byte*>(buffers.send), block.offset);
  for (std::size_t at = 0; block.bytes > 0 && at <= block.bytes; at += piece) {
    CROSSRAIL_TRY(plan.send(plan.group[destination], from + at, std::min(piece, block.bytes - at)));
  }
  return {};
}

struct Incoming {
  int source;
  std::size_t& came;
  std::size_t piece = Links::kMostPiece;
};

inline Status receive_block(Plan& plan, const Buffers& buffers, const Incoming& from) {
  const Block& block = buffers.in[from.source];
  std::byte* const to = moved(buffers.recv, block.offset);
  for (std::size_t at = 0; block.bytes > 0 && at <= block.bytes; at += from.piece) {
    const std::size_t bytes = std::min(from.piece, block.bytes - at);
    CROSSRAIL_TRY(plan.receive_up_to(plan.group[from.source], {to + at, bytes, from.came, bytes == from.piece}));
  }
  return {};
}

inline void copy_own_block(const Plan& plan, const Buffers& buffers) {
  const int index = plan.group.index();
  copy_part(buffers.received_from(index), buffers.sent_to(index));
}

struct Steps {
  int first, end;
};
enum class Way : std::uint8_t { out, in };
// Returns whether the block between this rank and another member of the group is a message.
using IsMessage = bool (*)(const Plan& plan, int peer, std::size_t bytes, Way way);
inline bool every_block(const Plan&, int, std::size_t, Way) { return true; }

class BlockMessages {
 public:
  // `came` returns how much has arrived, for every member.
  BlockMessages(Plan& plan, const Buffers& buffers, std::vector<std::size_t>& came, IsMessage is_message)
      : plan_(plan), buffers_(buffers), came_(came), is_message_(is_message) {
    std::fill(came.begin(), came.end(), 0);
  }

  // Posts the blocks to member index+s and from member index-s, for all s of `steps`.
  Status post(Steps steps) {
    for (int step = steps.first; step < steps.end; ++step) {
      const int source = source_of(step);
      if (is_message_(plan_, source, buffers_.in[source].bytes, Way::in)) CROSSRAIL_TRY(receive_block(plan_, buffers_, {source, came_[source]}));
    }
    for (int step = steps.first; step < steps.end; ++step) {
      const int destination = (plan_.group.index() + step) % plan_.group.size();
      if (is_message_(plan_, destination, buffers_.out[destination].bytes, Way::out)) CROSSRAIL_TRY(send_block(plan_, buffers_, destination));
    }
    return {};
  }

  // Waits for the first `throttle` steps, which have been posted, and performs the others.
  Status finish(int throttle) {
    const int size = plan_.group.size();
    CROSSRAIL_TRY(plan_.links->wait_posted());
    for (int first = 1 + throttle; first < size; first += throttle) {
      CROSSRAIL_TRY(post({first, std::min(first + throttle, size)}));
      CROSSRAIL_TRY(plan_.links->wait_posted());
    }
    for (int step = 1; step < size; ++step) {
      const int source = source_of(step);
      if (is_message_(plan_, source, buffers_.in[source].bytes, Way::in)) buffers_.came_from(source, came_[source]);
    }
    return {};
  }

 private:
  int source_of(int step) const { return (plan_.group.index() - step + plan_.group.size()) % plan_.group.size(); }

  Plan& plan_;
  const Buffers& buffers_;
  std::vector<std::size_t>& came_;
  IsMessage is_message_;
};

}  // namespace crossrail::alltoallv
