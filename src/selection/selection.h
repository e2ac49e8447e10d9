// Selection: (catalogue, tuning rows, Topology, Shape) -> candidates, best first. Pure: reads no
// environment, asks no device, so that every rank comes to the same answer.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "comm/tuning_row.h"
#include "selection/parameters.h"
#include "topology/topology.h"

namespace crossrail {

struct Candidate {
  const Algorithm* algorithm;  // null: native
  Parameters parameters;  // all that its row declares
  std::string origin;  // "default.csv:12", "CROSSRAIL_ALLTOALL"
  bool fallback = false;  // native, because no row is left
  std::string passed_over;  // rows that matched before this one but whose algorithm does not fit
};

// What is chosen for.
struct Ground {
  const Topology& topology;
  bool messages = true;      // pending calls: ranks can send each other messages
  int ranks_per_device = 1;  // calls on devices: the most that share one
  // Several nodes: the first call of its Shape had both sides in device memory on all ranks. Rows of such memory then come first; all
  // that they name takes host memory, too.
  bool devices_of_nodes = false;
};

// `wanted` is the setting's (wanted_algorithm()), empty for none: it comes first where it fits. The last candidate is
// always native, but in a stream's order, which the MPI library does not know: there may then be none.
std::vector<Candidate> choose(const std::vector<TuningRow>& rows, const std::string& wanted,
                              const Ground& ground, const Shape& shape);

// The same for calls that may be pending, which cannot be handed to the MPI library once they have begun: no
// native, and at the end an algorithm whose planning cannot fail. Empty where the call is native from the
// start: the best candidate is, or there is no such algorithm.
std::vector<Candidate> choose_without_native(const std::vector<TuningRow>& rows, const std::string& wanted,
                                             const Ground& ground, const Shape& shape);

// The same where the MPI library cannot have the call, even if it is the best candidate. Empty where there is no such algorithm.
std::vector<Candidate> choose_anything_but_native(const std::vector<TuningRow>& rows, const std::string& wanted,
                                                  const Ground& ground, const Shape& shape);

// Why the algorithm cannot carry such calls: "does not fit: it needs all ranks on one node". Empty where it can.
std::string why_unfit(const Algorithm& algorithm, const Topology& topology, const Shape& shape);

// Whether any call at all on such a communicator could get an algorithm of ours; if not, nothing need be kept for it. `devices`: some
// rank has, or may have, memory of devices.
bool could_serve(const std::vector<TuningRow>& rows, const Settings& settings, const Topology& topology, bool devices);

// Reads a tuning table. Its first line names the columns (tuning/default.csv tells them all), in any order; without such
// a line they are collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters. '#' begins a comment.
// Errors: invalid, with the line; `rows` keeps those before it.
inline constexpr std::size_t kMostTableBytes = 16 << 20;
Status read_tuning(const std::string& csv, const std::string& name, std::vector<TuningRow>& rows);

// The table that is compiled in: tuning/default.csv.
const char* default_tuning();

}  // namespace crossrail
