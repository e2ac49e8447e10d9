// When a communicator is opened, its ranks agree on settings and on a tuning table, and those of a node share a segment. The doors to the library
// (src/mpi, src/nccl) have these steps in common.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "transport/exchange.h"

namespace crossrail {

// Takes over rank 0's settings and tuning table; nothing is sent if the hashes in `locations` show that all ranks have the same settings.
// `of_communicator` contains settings of this communicator alone, which take precedence over the process's; afterwards it contains rank 0's. Returns
// false on all ranks alike if that fails.
bool take_over_settings(Communicator& communicator, const std::vector<Location>& locations, Exchange& exchange, std::string& of_communicator);

// Returns how the ranks of the node share their segment, or an empty string if they could not share one. The slots are placed in it.
std::string share_any_segment(Communicator& communicator, Exchange& exchange);

}  // namespace crossrail
