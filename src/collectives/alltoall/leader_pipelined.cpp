// What   As leader_coalesced, but the shared receive buffer holds two regions only: the region of
//        step k is copied out by all ranks of the node while that of step k+1 arrives, and takes
//        that of step k+2 when all have copied. The leader posts its sends ahead: the send buffer
//        holds all regions anyway.
// When   Small and medium blocks on several nodes.
// Cost   (N-1)(a + PPN^2 mb) between leaders + 2pm copied by every rank; N-1 partners and N-1 sends
//        a node; (N+2) PPN^2 m of the node's memory.
// Needs  A shared segment on every node. Parameters: ahead (regions sent before the first has come
//        back, 16).
// From   OHIO paper, section III-C (version 3), Algorithm 1 and Table III.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::leader_pipelined {
namespace {

struct Layout {
  Regions leaving;
  std::size_t half[2];  // of the receive buffer
  int ahead;
};

std::size_t largest_other(const Topology& topology, int node) {
  std::size_t most = 0;
  for (int other = 0; other < topology.node_count(); ++other) {
    if (other != node) most = std::max(most, ranks_on(topology, other));
  }
  return most;
}

// One call, as the leader sees it. Its messages by step; steps from 1 to N-1.
class Pipeline {
 public:
  Pipeline(Plan& plan, const Layout& layout, std::byte* memory) : plan_(plan), layout_(layout), memory_(memory) {}

  Status begin() {
    for (int step = 1; step <= std::min(2, last_step()); ++step) CROSSRAIL_TRY(post_receive(step));
    return send_up_to(layout_.ahead);
  }
  Status post_receive(int step) {
    const int node = partners_of(topology(), step).from;
    CROSSRAIL_TRY(plan_.receive(leader_of(topology(), node), memory_ + layout_.half[step & 1], region_bytes(plan_, node),
                                Links::Channel::coalesced));
    receive_[step & 1] = plan_.links->last_posted();
    return {};
  }
  Status send_up_to(int step) {
    for (; sent_ < std::min(step, last_step()); ++sent_) {
      const int node = partners_of(topology(), sent_ + 1).to;
      CROSSRAIL_TRY(plan_.send(leader_of(topology(), node), memory_ + layout_.leaving.at[node], region_bytes(plan_, node),
                               Links::Channel::coalesced));
    }
    return {};
  }
  // With the last region, everything that was sent must have left: the next call writes there.
  Status wait_received(int step) {
    if (step == last_step()) return plan_.links->wait_posted();
    return plan_.links->wait_for(receive_[step & 1]);
  }

 private:
  const Topology& topology() const { return *plan_.topology; }
  int last_step() const { return topology().node_count() - 1; }

  Plan& plan_;
  const Layout& layout_;
  std::byte* memory_;
  int sent_ = 0;
  Links::Ticket receive_[2] = {};
};

Status lead(Plan& plan, const Buffers& buffers, std::byte* memory, std::uint64_t epoch) {
  NodeBoard& board = *plan.board;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  Pipeline pipeline(plan, layout, memory);
  CROSSRAIL_TRY(board.await_marks(&RankLines::filled, epoch));
  CROSSRAIL_TRY(pipeline.begin());
  CROSSRAIL_TRY(copy_own_node(plan, buffers, memory + layout.leaving.at[topology.node()], epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    CROSSRAIL_TRY(pipeline.wait_received(step));
    if (step == 1) CROSSRAIL_TRY(board.await_marks(&RankLines::copied, epoch));
    const std::uint64_t step_epoch = board.next_epoch();
    board.mark(board.my_lines().arrived, step_epoch);
    CROSSRAIL_TRY(pipeline.send_up_to(step + layout.ahead));
    copy_from_region(plan, buffers, partners_of(topology, step).from, memory + layout.half[step & 1]);
    if (step + 2 >= topology.node_count()) continue;
    CROSSRAIL_TRY(board.await_marks(&RankLines::copied, step_epoch));
    CROSSRAIL_TRY(pipeline.post_receive(step + 2));
  }
  return {};
}

Status follow(Plan& plan, const Buffers& buffers, std::byte* memory, std::uint64_t epoch) {
  NodeBoard& board = *plan.board;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  CROSSRAIL_TRY(copy_own_node(plan, buffers, memory + layout.leaving.at[topology.node()], epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    const std::uint64_t step_epoch = board.next_epoch();
    CROSSRAIL_TRY(board.await_mark(0, &RankLines::arrived, step_epoch));
    copy_from_region(plan, buffers, partners_of(topology, step).from, memory + layout.half[step & 1]);
    board.mark(board.my_lines().copied, step_epoch);
  }
  return {};
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) {
  return regions_fit(topology, shape, [&](int node) {
    return ranks_on(topology, node) * (static_cast<std::size_t>(topology.size) + 2 * largest_other(topology, node));
  });
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  Layout layout;
  layout.leaving = regions_for_nodes(plan, 0);
  const std::size_t half = plan.shape.block_bytes * static_cast<std::size_t>(topology.node_size()) * largest_other(topology, topology.node());
  layout.half[0] = layout.leaving.end;
  layout.half[1] = layout.leaving.end + half;
  layout.ahead = static_cast<int>(std::clamp<std::uint64_t>(plan.parameter("ahead", 16), 1, topology.node_count()));
  return plan.open_messages_and_memory(plan.keep(std::move(layout)).half[1] + half);
}

Status run(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  const Layout& layout = plan.kept<Layout>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = board.next_epoch();
  stage_regions(plan, buffers, layout.leaving, memory);
  board.mark(board.my_lines().filled, epoch);
  if (plan.topology->one_node()) {
    const std::byte* const own = memory + layout.leaving.at[0];
    return copy_last_of_one_node(plan, [&] { return copy_own_node(plan, buffers, own, epoch); });
  }
  return board.node_rank() == 0 ? lead(plan, buffers, memory, epoch) : follow(plan, buffers, memory, epoch);
}

}  // namespace crossrail::alltoall::leader_pipelined
