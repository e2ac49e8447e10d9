// What   Blocks between ranks of one node go through its segment, as in node_shared. Blocks to other
//        nodes that are short are gathered by the leaders and exchanged as one message a pair of
//        nodes, in the pipeline of alltoall's leader_pipelined; long ones are messages from rank to
//        rank, a limited number in flight, posted first and waited for last.
// When   Several nodes. Sparse and empty rows cost what they hold.
// Cost   (N-1)a between leaders; short blocks are copied twice at each end, long ones not at all. Of
//        counts a rank reads its own, 2p of them, and PPN x N sums.
// Needs  A shared segment on every node. Parameters: coalesce (longest short block, 4096),
//        leaders, split, ahead, throttle; packet and direct inside the node.
// From   OHIO paper, sections III-C and V (extension to v); the counts of a node's ranks are read by
//        its peers in their memory (IPC paper, section III-C), here as sums over each other node
//        (ours). Across nodes a receiver's own say what may come; a region says what has
//        (region_table.h).

#include <algorithm>

#include "collectives/alltoallv/messages.h"
#include "collectives/alltoallv/region_table.h"
#include "collectives/node_rows.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv::leader_pipelined {
namespace {

constexpr std::size_t kOfTables = 96;  // Besides its own bytes, a block takes at most so many bytes of memory, in tables and by rounding.

// NodeCounts lie between one rank of this node and all ranks of another one. The rank's peers need them to lay out the regions.
struct NodeCounts {
  std::uint64_t leaving = 0;   // It counts the bytes of short blocks.
  // It counts the blocks that leave, including long ones: the receivers' node expects a region, whose table says which blocks are long.
  std::uint64_t blocks = 0;
  std::uint64_t expected = 0;  // It counts the bytes of short blocks.
  std::uint64_t room = 0;      // It is the room for what may arrive: a short block may come where a long one is expected.
};

struct State {
  NodeRows rows;
  NodeExchange exchange;
  std::size_t longest = 0;  // Leaders carry no longer block; it is the same on every rank.
  int throttle = 1;
  std::vector<NodeCounts> sums;     // They are sums over this node's ranks, indexed by node.
  std::vector<std::size_t> out_at;  // They are the places in node memory of this rank's blocks for each node.
  std::vector<std::size_t> came;    // They count what has arrived of each rank's long block, which is a message.
  std::vector<std::uint8_t> in_region;  // For each rank, it says that the long block that was expected of it is a short one in this call.
};

// These are the bytes of one rank's counts for all nodes.
std::size_t counts_bytes(const Topology& topology) { return round_up(topology.nodes.size() * sizeof(NodeCounts), kCacheLineBytes); }

NodeCounts* counts_of(const Topology& topology, std::byte* memory, int node_rank) {
  return reinterpret_cast<NodeCounts*>(memory + static_cast<std::size_t>(node_rank) * counts_bytes(topology));
}

// Returns how many blocks the regions from and to `node` hold at most, with two regions for each step of a round.
std::size_t most_blocks(const Topology& topology, int node, int slots) {
  const std::size_t others = static_cast<std::size_t>(topology.size) - ranks_on(topology, node);
  return ranks_on(topology, node) * (others + 2 * static_cast<std::size_t>(slots) * largest_other(topology, node));
}

bool is_message(const Plan& plan, int peer, std::size_t bytes, Way way) {
  const auto& state = plan.kept<State>();
  return plan.topology->node_of[peer] != plan.topology->node() && bytes > state.longest && (way == Way::out || state.in_region[peer] == 0);
}

NodeCounts count_blocks(const Plan& plan, const Buffers& buffers, int node) {
  const std::size_t longest = plan.kept<State>().longest;
  NodeCounts counts;
  for (const int peer : plan.topology->nodes[node]) {
    const std::size_t out = buffers.out[peer].bytes, in = buffers.in[peer].bytes;
    counts.leaving += out > longest ? 0 : out;
    counts.blocks += out > 0 ? 1 : 0;
    counts.expected += in > longest ? 0 : in;
    counts.room += std::min(in, longest);
  }
  return counts;
}

// Each rank adds up its own blocks once. Otherwise all its peers would do the same and fetch the counts from its cache.
void write_counts(const Plan& plan, const Buffers& buffers, std::byte* memory) {
  const Topology& topology = *plan.topology;
  NodeCounts* const counts = counts_of(topology, memory, topology.node_rank());
  for (int node = 0; node < topology.node_count(); ++node) {
    counts[node] = node == topology.node() ? NodeCounts() : count_blocks(plan, buffers, node);
  }
}

// Afterwards `state.out_at` says how much the ranks before this one send.
void add_up(const Topology& topology, std::byte* memory, State& state) {
  std::fill(state.sums.begin(), state.sums.end(), NodeCounts());
  for (int rank = 0; rank < topology.node_size(); ++rank) {
    const NodeCounts* const counts = counts_of(topology, memory, rank);
    for (std::size_t node = 0; node < state.sums.size(); ++node) {
      NodeCounts& sum = state.sums[node];
      if (rank == topology.node_rank()) state.out_at[node] = sum.leaving;
      sum.leaving += counts[node].leaving;
      sum.blocks += counts[node].blocks;
      sum.expected += counts[node].expected;
      sum.room += counts[node].room;
    }
  }
}

// Blocks lie as [sender][receiver], as close as the counts allow. If there is no block, there is no region.
void lay_out(const Plan& plan, std::byte* memory) {
  const Topology& topology = *plan.topology;
  auto& state = plan.kept<State>();
  NodeExchange& exchange = state.exchange;
  add_up(topology, memory, state);
  std::size_t at = static_cast<std::size_t>(topology.node_size()) * counts_bytes(topology);
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node == topology.node()) continue;
    const NodeCounts& sum = state.sums[node];
    const std::size_t table = table_bytes(topology, node);
    const bool leaves = sum.blocks > 0 && state.longest > 0, comes = sum.room > 0;
    at = round_up(at, sizeof(std::uint64_t));
    exchange.out_at[node] = at;
    exchange.out_bytes[node] = leaves ? table + sum.leaving : 0;
    state.out_at[node] += at + table;
    exchange.in_bytes[node] = comes ? table + sum.expected : 0;
    exchange.in_room[node] = comes ? table + sum.room : 0;
    at += exchange.out_bytes[node];
  }
}

void stage_short(Plan& plan, const Buffers& buffers, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const auto& state = plan.kept<State>();
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node == topology.node() || state.exchange.out_bytes[node] == 0) continue;
    TableEntry* entry = row_for(topology, memory + state.exchange.out_at[node], node);
    std::byte* to = memory + state.out_at[node];
    for (const int receiver : topology.nodes[node]) {
      const Block& block = buffers.out[receiver];
      const bool is_short = block.bytes <= state.longest;
      *entry++ = is_short ? static_cast<TableEntry>(block.bytes) : kAsMessage;
      if (block.bytes == 0 || !is_short) continue;
      plan.stage(to, buffers.send + block.offset, block.bytes);
      to += block.bytes;
    }
  }
}

struct Arrived {
  int node;
  const std::byte* region;
  std::size_t bytes;
};
struct Short {
  int sender;
  std::size_t at;  // It is the place of the region.
  std::size_t bytes;
};

Status copy_short(const Plan& plan, const Buffers& buffers, const Arrived& from, const Short& its) {
  const auto [sender, at, bytes] = its;
  auto& state = plan.kept<State>();
  const Block& block = buffers.in[sender];
  if (bytes > block.bytes) return failure(Code::mismatch, "rank %d sends %zu bytes, rank %d expects %zu", sender, bytes, plan.topology->rank, block.bytes);
  if (block.bytes > state.longest) {
    state.in_region[sender] = 1;
    plan.links->give_up(state.came[sender]);
  }
  for (std::size_t done = 0; done < bytes;) {
    const NodeExchange::Stretch there = state.exchange.arrived_at(at + done, from.bytes, from.node);
    const std::size_t part = std::min(there.bytes, bytes - done);
    copy_block(buffers.recv + block.offset + done, from.region + there.at, part);
    done += part;
  }
  buffers.came_from(sender, bytes);
  return {};
}

Status copy_from_region(const Plan& plan, const Buffers& buffers, int node, const std::byte* region) {
  const Topology& topology = *plan.topology;
  if (plan.kept<State>().exchange.in_bytes[node] == 0) return {};
  const Arrived from{node, region, region_length(plan, node, region)};
  std::size_t at = table_bytes(topology, node);
  const TableEntry* entry = table_of(topology, node, region).data();
  for (const int sender : topology.nodes[node]) {
    for (int receiver = 0; receiver < topology.node_size(); ++receiver, ++entry) {
      if (receiver == topology.node_rank() && *entry == kAsMessage && buffers.in[sender].bytes <= plan.kept<State>().longest) {
        return failure(Code::mismatch, "rank %d sends more than the %zu bytes that rank %d expects", sender, buffers.in[sender].bytes, topology.rank);
      }
      if (receiver == topology.node_rank() && *entry != kAsMessage) CROSSRAIL_TRY(copy_short(plan, buffers, from, {sender, at, *entry}));
      at += bytes_of(*entry);
    }
  }
  return {};
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
  const auto copy = [&](int node, const std::byte* region) { return copy_from_region(plan, buffers, node, region); };
  return PipelineCall{plan, state.exchange, memory, epoch, copy_own, copy}.run();
}

// Returns the bytes that it takes.
std::size_t divide_memory(const Topology& topology, State& state) {
  const std::size_t ranks = ranks_on(topology, topology.node());
  std::size_t leaving = ranks * counts_bytes(topology), longest_table = 0;
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node == topology.node() || state.longest == 0) continue;
    leaving += round_up(table_bytes(topology, node) + ranks * ranks_on(topology, node) * state.longest, sizeof(std::uint64_t));
    longest_table = std::max(longest_table, table_bytes(topology, node));
  }
  NodeExchange& exchange = state.exchange;
  exchange.receive_at = round_up(leaving, kCacheLineBytes);
  exchange.region_bytes = round_up(longest_table + ranks * largest_other(topology, topology.node()) * state.longest, kCacheLineBytes);
  return exchange.end(topology);
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) {
  Fit fit = Fit().needs(!topology.one_node(), "several nodes").needs(topology.shared_segment, kSharedMemory);
  for (int node = 0; node < topology.node_count(); ++node) {
    const std::size_t counts = ranks_on(topology, node) * counts_bytes(topology);
    fit.needs(counts + most_blocks(topology, node, 1) * 2 * kCacheLineBytes <= topology.scratch_bytes, kMoreScratch);
  }
  return fit;
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  plan.as_they_lie = Plan::AsTheyLie::in_node;
  State& state = plan.keep(State());
  NodeExchange& exchange = state.exchange;
  plan_leaders(plan, exchange);
  exchange.ahead = ahead_of(plan);
  exchange.length_of = region_length;
  state.longest = std::min<std::size_t>(plan.parameter(parameters::coalesce), kLongestInTable);
  for (int node = 0; node < topology.node_count(); ++node) {
    const std::size_t counts = ranks_on(topology, node) * counts_bytes(topology);
    const std::size_t each = (topology.scratch_bytes - counts) / most_blocks(topology, node, exchange.slots);
    state.longest = std::min(state.longest, each - std::min(each, kOfTables));
    exchange.table_bytes.push_back(table_bytes(topology, node));
  }
  for (std::vector<std::size_t>* one : {&exchange.out_at, &exchange.out_bytes, &exchange.in_bytes, &exchange.in_room, &exchange.came, &state.out_at}) {
    one->resize(topology.nodes.size());
  }
  state.sums.resize(topology.nodes.size());
  state.came.resize(static_cast<std::size_t>(topology.size));
  state.in_region.resize(static_cast<std::size_t>(topology.size));
  state.throttle = throttle_of(plan);
  CROSSRAIL_TRY(plan.open_messages_and_memory(divide_memory(topology, state)));
  return state.rows.plan(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  auto& state = plan.kept<State>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  std::fill(state.in_region.begin(), state.in_region.end(), 0);
  BlockMessages messages(plan, buffers, state.came, is_message);
  CROSSRAIL_TRY(messages.post({1, std::min(1 + state.throttle, plan.group.size())}));
  CROSSRAIL_TRY(state.rows.publish(plan, buffers));
  copy_own_block(plan, buffers);
  CROSSRAIL_TRY(exchange_short(plan, buffers, memory));
  return messages.finish(state.throttle);
}

}  // namespace crossrail::alltoallv::leader_pipelined
