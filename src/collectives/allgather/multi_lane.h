// This is the code of allgather/multi_lane and allgatherv/multi_lane.
#pragma once

#include <algorithm>

#include "collectives/allgather/own_block.h"
#include "collectives/combine.h"
#include "collectives/parameters.h"
#include "collectives/servers.h"

namespace crossrail::allgather {

// A PartPlace holds the bytes of every block from `from` on and says where they are in the node's memory.
struct PartPlace {
  std::size_t from, most, stride;
  std::byte* first;
  std::uint64_t epoch;
  std::byte* of(int rank) const { return first + static_cast<std::size_t>(rank) * stride; }
};

template <class Blocks>
class LanePart {
 public:
  LanePart(Plan& plan, const Gathering<Blocks>& gathering, const PartPlace& part) : plan_(plan), gathering_(gathering), part_(part) {}

  Status run() const {
    ControlBlock& control = *plan_.control;
    CROSSRAIL_TRY(exchange());
    const std::size_t mine = bytes_of(gathering_.index);
    plan_.stage(part_.of(gathering_.index), gathering_.own + part_.from, mine);
    control.post(filled, part_.epoch);
    gathering_.copy_own(part_.from, mine);
    const int node_size = control.node_size(), node_rank = control.node_rank();
    for (int step = 1; step < node_size; ++step) {
      const int peer = (node_rank + step) % node_size;
      CROSSRAIL_TRY(control.wait(peer, filled, part_.epoch));
      copy_out(control.rank_of(peer));
    }
    CROSSRAIL_TRY(plan_.links->wait_posted());
    control.post(arrived, part_.epoch);
    for (int step = 0; step < node_size; ++step) {
      const int peer = (node_rank + step) % node_size;
      if (step > 0) CROSSRAIL_TRY(control.wait(peer, arrived, part_.epoch));
      CROSSRAIL_TRY(copy_served(peer));
    }
    control.seen_all(part_.epoch);
    return {};
  }

 private:
  std::size_t bytes_of(int rank) const { return gathering_.received.piece(rank, part_.from, part_.most); }

  Status exchange() const {
    const Topology& topology = *plan_.topology;
    CROSSRAIL_TRY(for_served(topology, topology.node_rank(), [&](int rank) {
      const std::size_t bytes = bytes_of(rank);
      return Blocks::is_empty(bytes) ? Status{} : plan_.receive(rank, part_.of(rank), bytes);
    }));
    const std::size_t mine = bytes_of(gathering_.index);
    if (Blocks::is_empty(mine)) return {};
    return for_servers(topology, [&](int server) { return plan_.send(server, gathering_.own + part_.from, mine); });
  }

  void copy_out(int rank) const { copy_in_cache(gathering_.received.at(rank) + part_.from, part_.of(rank), bytes_of(rank)); }

  // Copies the blocks that this rank of the node has received from elsewhere.
  Status copy_served(int node_rank) const {
    return for_served(*plan_.topology, node_rank, [&](int rank) {
      copy_out(rank);
      return Status{};
    });
  }

  Plan& plan_;
  const Gathering<Blocks>& gathering_;
  const PartPlace& part_;
};

inline std::size_t room_for_part(const Topology& topology) { return topology.scratch_bytes / (2 * static_cast<std::size_t>(topology.size)); }

inline Fit fit_lanes(const Topology& topology) {
  return Fit().needs(topology.shared_segment, kSharedMemory).needs(room_for_part(topology) >= kCacheLineBytes, kMoreScratch).planned(Planning::when_larger);
}

// Plans room for parts of blocks; the longest block has `longest` bytes.
inline Status plan_lanes(Plan& plan, std::size_t longest) {
  const std::size_t room = room_for_part(*plan.topology) / kCacheLineBytes * kCacheLineBytes;
  plan.chunk_bytes = std::min<std::size_t>({room, std::max<std::size_t>(1, plan.parameter(parameters::part)), longest});
  return plan.open_messages_and_memory(2 * static_cast<std::size_t>(plan.topology->size) * round_up(plan.chunk_bytes, kCacheLineBytes));
}

template <class Blocks>
Status run_lanes(Plan& plan, const Gathering<Blocks>& gathering) {
  const std::size_t longest = gathering.received.longest(), chunk = std::min(plan.chunk_bytes, longest);
  const std::size_t stride = round_up(chunk, kCacheLineBytes);
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  // The halves have the same place in every call, because a rank may still read those of the call before.
  const std::size_t half_bytes = round_up(plan.chunk_bytes, kCacheLineBytes) * static_cast<std::size_t>(plan.topology->size);
  for (std::size_t from = 0; from < longest; from += chunk) {
    const std::uint64_t epoch = plan.control->next_epoch();
    CROSSRAIL_TRY(plan.control->wait_until_reusable(epoch));
    const PartPlace part{from, chunk, stride, memory + (epoch & 1) * half_bytes, epoch};
    CROSSRAIL_TRY(LanePart(plan, gathering, part).run());
  }
  return {};
}

}  // namespace crossrail::allgather
