// Gather and scatter on device memory share this code: one block of every rank moves between its own side and the root's row.
#pragma once

#include <algorithm>

#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail {

// The side is a single block instead of a row of them.
inline DeviceRound round_of_block(const DeviceRound& round) { return {round.from, round.bytes, round.block, round.block}; }

inline crossrail_engine rooted_engine(const Plan& plan) {
  return engine_for(plan, engine_for_length(plan, plan.shape.block_bytes, plan.parameter(parameters::memcpy_threshold)));
}

// Calls `run_round(round)` for as many bytes of every block as all ranks can stage at a time.
template <class RunRound>
Status run_rooted(Plan& plan, RunRound run_round) {
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t block = plan.shape.block_bytes, chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) CROSSRAIL_TRY(run_round(round_of(plan, from, std::min(chunk, block - from))));
  return {};
}

inline Status exchange_blocks(Plan& plan) {
  DeviceQueue& queue = plan.devices->queue();
  DeviceWork exchange;
  CROSSRAIL_TRY(queue.begin_exchange(plan.device_blocks.exchanged, rooted_engine(plan), exchange, Launch::one_a_device));
  return queue.finish(exchange);
}

}  // namespace crossrail
