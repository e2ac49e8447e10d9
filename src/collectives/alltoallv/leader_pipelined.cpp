// What   Blocks between ranks of one node go through its segment, as in node_shared. Blocks to other
//        nodes that are short are gathered by the leaders and exchanged as one message a pair of
//        nodes, in the pipeline of alltoall's leader_pipelined; long ones are messages from rank to
//        rank, a limited number in flight, posted first and waited for last.
// When   Several nodes. Sparse and empty rows cost what they hold.
// Cost   (N-1)a between leaders; short blocks are copied twice at each end, long ones not at all.
// Needs  A shared segment on every node. Parameters: coalesce (longest short block, 4096),
//        leaders, split, ahead, throttle; packet and direct inside the node.
// From   OHIO paper, sections III-C and V (extension to v); the counts of a node's ranks are read by
//        its peers in their memory (IPC paper, section III-C). Across nodes no counts are exchanged:
//        a receiver's own say what comes.

#include <algorithm>

#include "collectives/alltoallv/messages.h"
#include "collectives/leader_pipeline.h"
#include "collectives/node_rows.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv::leader_pipelined {
namespace {

using Count = std::uint32_t;

struct State {
  NodeRows rows;
  NodeExchange exchange;
  std::size_t longest = 0;  // block that leaders carry; the same on every rank
  int throttle = 1;
  std::vector<std::size_t> out_at;  // by node: this rank's blocks for it, in node memory
  std::vector<std::size_t> in_at;   // by rank: its block for this rank, in the region from its node
};

// Of one rank of the node: the bytes of its short blocks to and from every rank of the communicator.
struct Counts {
  Count* out;
  Count* in;
};

std::size_t counts_bytes(const Topology& topology) {
  return round_up(2 * static_cast<std::size_t>(topology.size) * sizeof(Count), kCacheLineBytes);
}

Counts counts_of(const Topology& topology, std::byte* memory, int node_rank) {
  auto* const out = reinterpret_cast<Count*>(memory + static_cast<std::size_t>(node_rank) * counts_bytes(topology));
  return {out, out + topology.size};
}

// Blocks that regions out of and into `node` hold at most, with two regions for each step of a round.
std::size_t most_blocks(const Topology& topology, int node, int slots) {
  const std::size_t others = static_cast<std::size_t>(topology.size) - ranks_on(topology, node);
  return ranks_on(topology, node) * (others + 2 * static_cast<std::size_t>(slots) * largest_other(topology, node));
}

bool is_message(const Plan& plan, int peer, std::size_t bytes) {
  return plan.topology->node_of[peer] != plan.topology->node() && bytes > plan.kept<State>().longest;
}

void write_counts(Plan& plan, const Buffers& buffers, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const std::size_t longest = plan.kept<State>().longest;
  const Counts counts = counts_of(topology, memory, topology.node_rank());
  for (int rank = 0; rank < topology.size; ++rank) {
    const std::size_t out = buffers.out[rank].bytes, in = buffers.in[rank].bytes;
    counts.out[rank] = out > longest ? 0 : static_cast<Count>(out);
    counts.in[rank] = in > longest ? 0 : static_cast<Count>(in);
  }
}

// Regions are [sender][receiver], as tight as the counts allow.
void lay_out(const Plan& plan, std::byte* memory) {
  const Topology& topology = *plan.topology;
  auto& state = plan.kept<State>();
  const int ranks = topology.node_size();
  std::size_t at = static_cast<std::size_t>(ranks) * counts_bytes(topology);
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node == topology.node()) continue;
    state.exchange.out_at[node] = at;
    for (int sender = 0; sender < ranks; ++sender) {
      if (sender == topology.node_rank()) state.out_at[node] = at;
      const Counts counts = counts_of(topology, memory, sender);
      for (const int receiver : topology.nodes[node]) at += counts.out[receiver];
    }
    state.exchange.out_bytes[node] = at - state.exchange.out_at[node];
    std::size_t in = 0;
    for (const int sender : topology.nodes[node]) {
      for (int receiver = 0; receiver < ranks; ++receiver) {
        if (receiver == topology.node_rank()) state.in_at[sender] = in;
        in += counts_of(topology, memory, receiver).in[sender];
      }
    }
    state.exchange.in_bytes[node] = in;
  }
}

void stage_short(Plan& plan, const Buffers& buffers, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const auto& state = plan.kept<State>();
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node == topology.node()) continue;
    std::byte* to = memory + state.out_at[node];
    for (const int receiver : topology.nodes[node]) {
      const Block& block = buffers.out[receiver];
      if (block.bytes == 0 || block.bytes > state.longest) continue;
      plan.stage(to, buffers.send + block.offset, block.bytes);
      to += block.bytes;
    }
  }
}

void copy_short(const Plan& plan, const Buffers& buffers, int node, const std::byte* region) {
  const auto& state = plan.kept<State>();
  for (const int sender : plan.topology->nodes[node]) {
    const Block& block = buffers.in[sender];
    if (block.bytes > 0 && block.bytes <= state.longest) copy_block(buffers.recv + block.offset, region + state.in_at[sender], block.bytes);
  }
}

Status exchange_short(Plan& plan, const Buffers& buffers, std::byte* memory) {
  ControlBlock& control = *plan.control;
  auto& state = plan.kept<State>();
  write_counts(plan, buffers, memory);
  const std::uint64_t epoch = control.next_epoch();
  control.post(counted, epoch);
  CROSSRAIL_TRY(control.wait_all(counted, epoch));
  lay_out(plan, memory);
  stage_short(plan, buffers, memory);
  control.post(filled, epoch);
  const auto copy_own = [&] {
    const Status fetched = state.rows.fetch(plan, buffers);
    control.post(copied, epoch);
    return fetched;
  };
  const auto copy = [&](int node, const std::byte* region) { copy_short(plan, buffers, node, region); };
  return PipelineCall{plan, state.exchange, memory, epoch, copy_own, copy}.run();
}

}  // namespace

bool fits(const Topology& topology, const Shape&) {
  if (!topology.shared_segment || topology.one_node()) return false;
  for (int node = 0; node < topology.node_count(); ++node) {
    const std::size_t counts = ranks_on(topology, node) * counts_bytes(topology);
    if (counts + most_blocks(topology, node, 1) * kCacheLineBytes > topology.scratch_bytes) return false;
  }
  return true;
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  plan.as_they_lie = Plan::AsTheyLie::in_node;
  State& state = plan.keep(State());
  NodeExchange& exchange = state.exchange;
  plan_leaders(plan, exchange);
  exchange.ahead = ahead_of(plan);
  state.longest = std::min<std::size_t>(plan.parameter(parameters::coalesce), ~Count{0});
  for (int node = 0; node < topology.node_count(); ++node) {
    const std::size_t counts = ranks_on(topology, node) * counts_bytes(topology);
    state.longest = std::min(state.longest, (topology.scratch_bytes - counts) / most_blocks(topology, node, exchange.slots));
  }
  exchange.out_at.resize(topology.nodes.size());
  exchange.out_bytes.resize(topology.nodes.size());
  exchange.in_bytes.resize(topology.nodes.size());
  state.out_at.resize(topology.nodes.size());
  state.in_at.resize(static_cast<std::size_t>(topology.size));
  state.throttle = throttle_of(plan);
  const std::size_t ranks = ranks_on(topology, topology.node());
  const std::size_t out = ranks * (static_cast<std::size_t>(topology.size) - ranks) * state.longest;
  exchange.receive_at = ranks * counts_bytes(topology) + out;
  exchange.region_bytes = ranks * largest_other(topology, topology.node()) * state.longest;
  CROSSRAIL_TRY(plan.open_messages_and_memory(exchange.end(topology)));
  return state.rows.plan(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  auto& state = plan.kept<State>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  CROSSRAIL_TRY(post_steps(plan, buffers, {1, std::min(1 + state.throttle, plan.group.size())}, is_message));
  CROSSRAIL_TRY(state.rows.publish(plan, buffers));
  copy_own_block(plan, buffers);
  CROSSRAIL_TRY(exchange_short(plan, buffers, memory));
  return finish_steps(plan, buffers, state.throttle, is_message);
}

}  // namespace crossrail::alltoallv::leader_pipelined
