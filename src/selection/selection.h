// These functions read tuning tables and say what they are for. selection/choice.h says what is chosen by them.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "comm/tuning_row.h"
#include "selection/parameters.h"
#include "topology/topology.h"

namespace crossrail {

// Returns whether a row is for communicators of this layout.
bool suits(const TuningRow& row, const Topology& topology);

// Returns whether any call at all on such a communicator could get an algorithm of ours. If not, nothing need be kept for it. `devices` says
// that some rank has, or may have, memory of devices.
bool could_serve(const std::vector<TuningRow>& rows, const Settings& settings, const Topology& topology, bool devices);

// Reads a tuning table. Its first line names the columns (tuning/default.csv tells them all), in any order. Without such a line they are
// collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters. '#' begins a comment. It may fail with invalid, and then names the
// line; `rows` keeps those before it.
inline constexpr std::size_t kMostTableBytes = 16 << 20;
Status read_tuning(const std::string& csv, const std::string& name, std::vector<TuningRow>& rows);

// Returns the table that is compiled in, which is tuning/default.csv.
const char* default_tuning();

}  // namespace crossrail
