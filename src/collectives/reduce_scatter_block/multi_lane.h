// This is the code of reduce_scatter_block/multi_lane and reduce_scatter/multi_lane.
#pragma once

#include <algorithm>

#include "collectives/parameters.h"
#include "collectives/reduce_scatter_block/own_block.h"
#include "collectives/servers.h"

namespace crossrail::reduce_scatter_block {

struct PartPlace {
  std::size_t from, most, row;  // `row` is the distance from one rank's region to the next, and `most` the distance between its blocks.
  std::byte* first;
  std::uint64_t epoch;
  std::byte* of(int node_rank, int block) const { return first + static_cast<std::size_t>(node_rank) * row + static_cast<std::size_t>(block) * most; }
};

inline std::size_t rows_scratch(const Topology& topology) { return Rows::scratch_bytes(std::max(topology.node_size(), topology.node_count())); }

template <class Blocks>
class LanePart {
 public:
  LanePart(Plan& plan, const Scattering<Blocks>& scattering, const PartPlace& part)
      : plan_(plan), topology_(*plan.topology), control_(*plan.control), scattering_(scattering), part_(part), mine_(topology_.node_rank()) {}

  Status run() {
    const int rank = topology_.rank;
    const std::size_t bytes = bytes_of(rank);
    std::byte* const arriving = plan_.scratch() + rows_scratch(topology_);  // The index is the node.
    const auto from_node = [&](int node) { return arriving + static_cast<std::size_t>(node) * part_.most; };
    if (!Blocks::is_empty(bytes)) {
      CROSSRAIL_TRY(for_servers(topology_, [&](int server) { return plan_.receive(server, from_node(topology_.node_of[server]), bytes); }));
    }
    stage();
    CROSSRAIL_TRY(for_served(topology_, mine_, [&](int served) { return serve(served); }));
    CROSSRAIL_TRY(combine_node(rank));
    CROSSRAIL_TRY(plan_.links->wait_posted());
    const auto of_node = [&](int node, const std::byte*& at) -> Status {
      at = node == topology_.node() ? part_.of(mine_, rank) : from_node(node);
      return {};
    };
    CROSSRAIL_TRY(Rows(plan_, topology_.node_count(), plan_.scratch()).combine(bytes, scattering_.result + part_.from, of_node));
    if (!Blocks::is_empty(bytes)) control_.seen_all(part_.epoch);
    return {};
  }

 private:
  std::size_t bytes_of(int rank) const { return scattering_.sent.piece(rank, part_.from, part_.most); }
  std::byte* sent(int rank) const { return scattering_.sent.at(rank) + part_.from; }

  // Stages what other ranks combine. The rest of this rank's region is for its own results.
  void stage() {
    const int node_size = topology_.node_size();
    for (const Group& node : topology_.nodes) {
      for (int number = 0; number < node.size(); ++number) {
        if (number % node_size == mine_) continue;
        plan_.stage(part_.of(mine_, node[number]), sent(node[number]), bytes_of(node[number]));
      }
    }
    control_.post(filled, part_.epoch);
  }

  // Combines the node's blocks for `rank` into the place of this rank's result for it.
  Status combine_node(int rank) {
    const auto row = [&](int peer, const std::byte*& at) -> Status {
      if (peer != mine_) CROSSRAIL_TRY(control_.wait(peer, filled, part_.epoch));
      at = peer == mine_ ? sent(rank) : part_.of(peer, rank);
      return {};
    };
    return Rows(plan_, control_.node_size(), plan_.scratch()).combine(bytes_of(rank), part_.of(mine_, rank), row);
  }

  Status serve(int rank) {
    const std::size_t bytes = bytes_of(rank);
    if (Blocks::is_empty(bytes)) return {};
    const Status combined = combine_node(rank);
    return combined.ok() ? plan_.send(rank, part_.of(mine_, rank), bytes) : combined;
  }

  Plan& plan_;
  const Topology& topology_;
  ControlBlock& control_;
  const Scattering<Blocks>& scattering_;
  const PartPlace& part_;
  int mine_;
};

inline std::size_t room_for_part(const Topology& topology) {
  return topology.scratch_bytes / (2 * static_cast<std::size_t>(topology.largest_node()) * static_cast<std::size_t>(topology.size));
}

// It is the same on every rank, however many ranks its node has. The scratch has room for a part and those that arrive from other nodes.
inline std::size_t part_at_most(const Topology& topology, const Reduction& reduction, std::size_t wanted) {
  const std::size_t element = bytes_of(reduction.element);
  const std::size_t arriving = topology.scratch_bytes / 2 / static_cast<std::size_t>(topology.node_count());
  const std::size_t most = std::min<std::uint64_t>({room_for_part(topology), arriving, wanted});
  return element == 0 ? 0 : most / element * element;
}

inline Fit fit_lanes(const Topology& topology, const Shape& shape) {
  const bool room = part_at_most(topology, shape.reduction, ~std::size_t{0}) > 0;
  return Fit()
      .needs(topology.shared_segment, kSharedMemory)
      .needs(is_defined(shape.reduction), kDefinedReduction)
      .needs(free_order(topology, shape), kFreeOrder)
      .at_most(room ? ~std::uint64_t{0} : 0)
      .planned(Planning::when_larger);
}

// Plans room for parts of blocks; the longest block has `longest` bytes.
inline Status plan_lanes(Plan& plan, std::size_t longest) {
  const Topology& topology = *plan.topology;
  const std::size_t element = bytes_of(plan.shape.reduction.element);
  plan.chunk_bytes = std::min<std::size_t>(longest, part_at_most(topology, plan.shape.reduction, std::max<std::size_t>(element, plan.parameter(parameters::part))));
  const std::size_t row = plan.chunk_bytes * static_cast<std::size_t>(topology.size);
  const Status opened = plan.open_messages_and_memory(2 * row * static_cast<std::size_t>(topology.node_size()));
  const Status reserved = plan.reserve_scratch(rows_scratch(topology) + plan.chunk_bytes * static_cast<std::size_t>(topology.node_count()));
  return opened.ok() ? reserved : opened;
}

template <class Blocks>
Status run_lanes(Plan& plan, const Scattering<Blocks>& scattering) {
  const std::size_t longest = scattering.sent.longest(), most = std::min(plan.chunk_bytes, longest);
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::size_t size = static_cast<std::size_t>(plan.topology->size);
  // The halves have the same place in every call, because a rank may still read those of the call before.
  const std::size_t half_bytes = plan.chunk_bytes * size * static_cast<std::size_t>(plan.topology->node_size());
  for (std::size_t from = 0; from < longest; from += most) {
    const std::uint64_t epoch = plan.control->next_epoch();
    CROSSRAIL_TRY(plan.control->wait_until_reusable(epoch));
    const PartPlace part{from, most, most * size, memory + (epoch & 1) * half_bytes, epoch};
    CROSSRAIL_TRY(LanePart(plan, scattering, part).run());
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block
