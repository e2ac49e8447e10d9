#include "api/why_not.h"

#include <algorithm>
#include <array>
#include <vector>

namespace crossrail {
namespace {

struct AskedCall {
  Topology topology;
  Shape shape;
};

// The same but for where the ranks are.
Topology laid_out(const Topology& like, const std::vector<int>& node_of) {
  Topology topology = topology_from_nodes(node_of, 0);
  topology.shared_segment = like.shared_segment;
  topology.single_copy = like.single_copy;
  topology.scratch_bytes = like.scratch_bytes;
  topology.rank_order = like.rank_order;
  topology.mpi = like.mpi;
  return topology;
}

Topology spread(const Topology& like, int ranks, int nodes) {
  std::vector<int> node_of(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) node_of[rank] = static_cast<int>(static_cast<std::int64_t>(rank) * nodes / ranks);
  return laid_out(like, node_of);
}

enum class Change { few_ranks, any_order, separate, call, stream, single_copy, shared, small_blocks, one_node, several_nodes };
constexpr std::array kChanges = {Change::few_ranks,   Change::any_order, Change::separate,     Change::call,     Change::stream,
                                 Change::single_copy, Change::shared,    Change::small_blocks, Change::one_node, Change::several_nodes};
using Changes = std::vector<Change>;

bool has(const Changes& changes, Change one) { return std::find(changes.begin(), changes.end(), one) != changes.end(); }

void set_bytes(AskedCall& call, std::uint64_t bytes) {
  // Of whole elements.
  const std::uint64_t element = std::max<std::uint64_t>(1, bytes_of(call.shape.reduction.element));
  call.shape.block_bytes = std::min(call.shape.block_bytes, std::max(element, bytes / element * element));
}

AskedCall changed(AskedCall call, const Changes& changes) {
  if (has(changes, Change::one_node)) call.topology = spread(call.topology, call.topology.size, 1);
  if (has(changes, Change::several_nodes)) call.topology = spread(call.topology, call.topology.size, 2);
  if (has(changes, Change::few_ranks)) call.topology = spread(call.topology, 2, std::min(2, call.topology.node_count()));
  if (has(changes, Change::any_order)) call.topology.rank_order = false;
  if (has(changes, Change::separate)) call.shape.in_place = false;
  if (has(changes, Change::call)) call.shape.order = Order::call;
  if (has(changes, Change::stream)) call.shape.order = Order::stream;
  if (has(changes, Change::shared) || has(changes, Change::single_copy)) call.topology.shared_segment = true;
  if (has(changes, Change::single_copy)) call.topology.single_copy = true;
  if (has(changes, Change::small_blocks)) set_bytes(call, 1);
  return call;
}

bool fits(const Algorithm& row, const AskedCall& call) { return row.fits(call.topology, call.shape); }

// Whether it changes anything.
bool worth_trying(const AskedCall& call, Change one) {
  const Topology& topology = call.topology;
  switch (one) {
    case Change::few_ranks: return topology.size > 2;
    case Change::any_order: return topology.rank_order;
    case Change::separate: return call.shape.in_place;
    case Change::call: return call.shape.order == Order::stream;
    case Change::stream: return call.shape.memory == Memory::device && call.shape.order == Order::call;
    case Change::single_copy: return topology.size > 1 && !topology.single_copy;
    case Change::shared: return topology.size > 1 && !topology.shared_segment;
    case Change::small_blocks: return call.shape.block_bytes > 1;
    case Change::one_node: return !topology.one_node();
    case Change::several_nodes: return topology.one_node() && topology.size > 1;
  }
  return false;
}

// All that may be tried together, with and without those that go with some rows only; empty where the row does not fit any of these calls.
Changes sufficient(const Algorithm& row, const AskedCall& call) {
  const Changes without[] = {{Change::one_node, Change::several_nodes, Change::stream}, {Change::stream}, {Change::one_node, Change::several_nodes}, {}};
  for (const Changes& left_out : without) {
    Changes all;
    for (const Change one : kChanges) {
      if (worth_trying(call, one) && !has(left_out, one)) all.push_back(one);
    }
    if (fits(row, changed(call, all))) return all;
  }
  return {};
}

// Of the changes that together make it fit those without which it does not.
Changes necessary(const Algorithm& row, const AskedCall& call, Changes all) {
  for (const Change one : kChanges) {
    Changes fewer = all;
    fewer.erase(std::remove(fewer.begin(), fewer.end(), one), fewer.end());
    if (fewer.size() < all.size() && fits(row, changed(call, fewer))) all = fewer;
  }
  return all;
}

// The largest number from `least` on, which holds, below `most`, which does not, that does.
template <class Holds>
std::uint64_t largest(std::uint64_t least, std::uint64_t most, Holds holds) {
  while (most - least > 1) {
    const std::uint64_t middle = least + (most - least) / 2;
    (holds(middle) ? least : most) = middle;
  }
  return least;
}

std::string most_bytes(const Algorithm& row, const AskedCall& call, Changes others) {
  others.erase(std::remove(others.begin(), others.end(), Change::small_blocks), others.end());
  const AskedCall rest = changed(call, others);
  const auto holds = [&](std::uint64_t bytes) {
    AskedCall smaller = rest;
    smaller.shape.block_bytes = rest.shape.block_bytes;
    set_bytes(smaller, bytes);
    return fits(row, smaller);
  };
  return "blocks of at most " + std::to_string(largest(1, call.shape.block_bytes, holds)) + " bytes";
}

std::string most_ranks(const Algorithm& row, const AskedCall& call, Changes others) {
  others.erase(std::remove(others.begin(), others.end(), Change::few_ranks), others.end());
  const AskedCall rest = changed(call, others);
  const auto holds = [&](std::uint64_t ranks) {
    const int number = static_cast<int>(ranks);
    return fits(row, {spread(rest.topology, number, std::min(number, rest.topology.node_count())), rest.shape});
  };
  return "at most " + std::to_string(largest(2, static_cast<std::uint64_t>(call.topology.size), holds)) + " ranks";
}

std::string words_of(const Algorithm& row, const AskedCall& call, const Changes& all, Change one) {
  switch (one) {
    case Change::few_ranks: return most_ranks(row, call, all);
    case Change::any_order: return "any order of the ranks (CROSSRAIL_REPRODUCIBLE off)";
    case Change::separate: return "two buffers, not MPI_IN_PLACE";
    case Change::call: return "a call that is not in a stream's order";
    case Change::stream: return "a call in a stream's order";
    case Change::single_copy: return "process_vm_readv";
    case Change::shared: return "memory that ranks share";
    case Change::small_blocks: return most_bytes(row, call, all);
    case Change::one_node: return "all ranks on one node";
    case Change::several_nodes: return "several nodes";
  }
  return {};
}

}  // namespace

std::string needed_by(const Algorithm& row, const Topology& topology, const Shape& shape) {
  const AskedCall call{topology, shape};
  std::string words;
  const Changes needed = necessary(row, call, sufficient(row, call));
  for (auto one = needed.rbegin(); one != needed.rend(); ++one) {
    words += (words.empty() ? "" : " and ") + words_of(row, call, needed, *one);
  }
  return words;
}

}  // namespace crossrail
