// The exchange of leaders in which the node's receive buffer holds two regions: the region of step k
// is copied out by all ranks of the node while that of step k+1 arrives (OHIO paper, section III-C,
// Algorithm 1). The leader posts its sends ahead, since the send buffer holds all regions anyway.
#pragma once

#include "collectives/nodes.h"

namespace crossrail {

// What a node sends to and receives from every other node, in its memory.
struct NodeExchange {
  std::vector<std::size_t> out_at, out_bytes, in_bytes;  // by node
  std::size_t half[2];  // of the receive buffer
  int ahead;            // regions sent before the first has arrived
};

// Parameter: ahead.
inline int ahead_of(const Plan& plan) {
  return static_cast<int>(std::clamp<std::uint64_t>(plan.parameter("ahead", 16), 1, plan.topology->nodes.size()));
}

// The leader's messages of one call, by step. Empty regions are no messages; both ends know.
class LeaderMessages {
 public:
  LeaderMessages(Plan& plan, const NodeExchange& exchange, std::byte* memory)
      : plan_(plan), exchange_(exchange), memory_(memory) {}

  Status begin() {
    for (int step = 1; step <= std::min(2, last_step()); ++step) CROSSRAIL_TRY(post_receive(step));
    return send_up_to(exchange_.ahead);
  }
  Status post_receive(int step) {
    const int node = partners_of(*plan_.topology, step).from;
    pending_[step & 1] = exchange_.in_bytes[node] > 0;
    if (!pending_[step & 1]) return {};
    CROSSRAIL_TRY(plan_.receive(leader_of(*plan_.topology, node), memory_ + exchange_.half[step & 1],
                                exchange_.in_bytes[node], Links::Channel::coalesced));
    receive_[step & 1] = plan_.links->last_posted();
    return {};
  }
  Status send_up_to(int step) {
    for (; sent_ < std::min(step, last_step()); ++sent_) {
      const int node = partners_of(*plan_.topology, sent_ + 1).to;
      if (exchange_.out_bytes[node] == 0) continue;
      CROSSRAIL_TRY(plan_.send(leader_of(*plan_.topology, node), memory_ + exchange_.out_at[node],
                               exchange_.out_bytes[node], Links::Channel::coalesced));
    }
    return {};
  }
  // With the last region, everything that was sent must have left: the next call writes there.
  Status wait_received(int step) {
    if (step == last_step()) return plan_.links->wait_posted();
    return pending_[step & 1] ? plan_.links->wait_for(receive_[step & 1]) : Status{};
  }

 private:
  int last_step() const { return plan_.topology->node_count() - 1; }

  Plan& plan_;
  const NodeExchange& exchange_;
  std::byte* memory_;
  int sent_ = 0;
  bool pending_[2] = {};
  Links::Ticket receive_[2] = {};
};

// One call, for the leader and for its node's other ranks, once this rank has marked `filled` for
// `epoch`. `copy_own()` copies this rank's blocks from its own node and marks `copied`,
// `copy_step(step)` copies those that have arrived in a step, from half[step & 1].
template <class CopyOwn, class CopyStep>
struct PipelineCall {
  Plan& plan;
  const NodeExchange& exchange;
  std::byte* memory;
  std::uint64_t epoch;
  CopyOwn copy_own;
  CopyStep copy_step;

  Status run() { return plan.board->node_rank() == 0 ? lead() : follow(); }
  Status lead();
  Status follow();
};

template <class CopyOwn, class CopyStep>
Status PipelineCall<CopyOwn, CopyStep>::lead() {
  NodeBoard& board = *plan.board;
  const int nodes = plan.topology->node_count();
  LeaderMessages messages(plan, exchange, memory);
  CROSSRAIL_TRY(board.await_marks(&RankLines::filled, epoch));
  CROSSRAIL_TRY(messages.begin());
  CROSSRAIL_TRY(copy_own());
  for (int step = 1; step < nodes; ++step) {
    CROSSRAIL_TRY(messages.wait_received(step));
    // All have read their own node's blocks, so that the next call may write there.
    if (step == 1) CROSSRAIL_TRY(board.await_marks(&RankLines::copied, epoch));
    const std::uint64_t step_epoch = board.next_epoch();
    board.mark(board.my_lines().arrived, step_epoch);
    CROSSRAIL_TRY(messages.send_up_to(step + exchange.ahead));
    copy_step(step);
    if (step + 2 >= nodes) continue;
    CROSSRAIL_TRY(board.await_marks(&RankLines::copied, step_epoch));
    CROSSRAIL_TRY(messages.post_receive(step + 2));
  }
  return {};
}

template <class CopyOwn, class CopyStep>
Status PipelineCall<CopyOwn, CopyStep>::follow() {
  NodeBoard& board = *plan.board;
  CROSSRAIL_TRY(copy_own());
  for (int step = 1; step < plan.topology->node_count(); ++step) {
    const std::uint64_t step_epoch = board.next_epoch();
    CROSSRAIL_TRY(board.await_mark(0, &RankLines::arrived, step_epoch));
    copy_step(step);
    board.mark(board.my_lines().copied, step_epoch);
  }
  return {};
}

}  // namespace crossrail
