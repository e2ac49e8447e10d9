#include "selection/selection.h"

#include <algorithm>
#include <cstdlib>

namespace crossrail {
namespace {

// "*", "4", "2-", "2-8"
bool in_range(const std::string& range, int value) {
  if (range == "*") return true;
  char* end = nullptr;
  const long low = std::strtol(range.c_str(), &end, 10);
  if (*end == '\0') return value == low;
  return value >= low && (end[1] == '\0' || value <= std::strtol(end + 1, nullptr, 10));
}

bool matches(const TuningRow& row, const Topology& topology, const Shape& shape) {
  return row.collective == name_of(shape.collective) && row.memory == name_of(shape.memory) &&
         in_range(row.nodes, topology.node_count()) && in_range(row.ranks_per_node, topology.largest_node()) &&
         shape.block_bytes <= row.up_to_bytes;
}

}  // namespace

const std::string& wanted_algorithm(const Settings& settings, Collective collective) {
  switch (collective) {
    case Collective::alltoallv: return settings.alltoallv;
    default: return settings.alltoall;
  }
}

std::vector<Candidate> choose(const std::vector<TuningRow>& rows, const std::string& wanted,
                              const Topology& topology, const Shape& shape) {
  std::vector<Candidate> candidates;
  std::string passed_over;
  const auto consider = [&](const std::string& name, const Parameters& parameters, const std::string& origin) {
    const Algorithm* algorithm = find_algorithm(shape.collective, name, shape.memory);
    if (name != "native" && (algorithm == nullptr || !algorithm->fits(topology, shape))) {
      passed_over += " " + name + " of " + origin + (algorithm == nullptr ? " is unknown;" : " does not fit;");
      return;
    }
    candidates.push_back({algorithm, parameters, origin, false, passed_over});
  };
  if (!wanted.empty()) {
    const std::size_t blank = std::min(wanted.find(' '), wanted.size());
    Parameters parameters;
    if (!read_parameters(wanted.substr(blank), parameters)) passed_over += " parameters of the setting make no sense;";
    consider(wanted.substr(0, blank), parameters, "setting");
  }
  for (const TuningRow& row : rows) {
    if (matches(row, topology, shape)) consider(row.algorithm, row.parameters, row.origin);
  }
  consider("native", {}, "last row");
  candidates.back().last_resort = true;
  return candidates;
}

}  // namespace crossrail
