// Selection: (catalogue, tuning rows, Topology, Shape) -> candidates, best first. Pure: reads no
// environment, asks no device, so that every rank comes to the same answer.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "comm/tuning_row.h"
#include "topology/topology.h"

namespace crossrail {

struct Candidate {
  const Algorithm* algorithm;  // null: native
  Parameters parameters;
  std::string origin;  // "default.csv:12", "CROSSRAIL_ALLTOALL"
  bool last_resort = false;  // native, because no row is left
  std::string passed_over;  // rows that matched before this one but whose algorithm does not fit
};

// `wanted` is the setting's algorithm, with parameters if need be ("node_shared packet=512"), empty
// for none: it comes first where it fits. The last candidate is always native.
std::vector<Candidate> choose(const std::vector<TuningRow>& rows, const std::string& wanted,
                              const Topology& topology, const Shape& shape);

// What the settings want for a collective: choose()'s `wanted`.
const std::string& wanted_algorithm(const Settings& settings, Collective collective);

// Reads a tuning table. Lines: collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters;
// '#' begins a comment. Errors: invalid, with the line; `rows` keeps those before it.
Status read_tuning(const std::string& csv, const std::string& name, std::vector<TuningRow>& rows);

// "packet=512 chunk=4K". False if `text` is something else.
bool read_parameters(const std::string& text, Parameters& parameters);

// The table that is compiled in: tuning/default.csv.
const char* default_tuning();

}  // namespace crossrail
