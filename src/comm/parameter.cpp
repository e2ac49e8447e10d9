#include "comm/parameter.h"

#include <algorithm>

namespace crossrail {

ParameterValues::ParameterValues(std::span<const Parameter* const> declared, const Parameters& given) : declared_(declared) {
  for (std::size_t number = 0; number < declared.size(); ++number) {
    const auto found = given.empty() ? given.end() : given.find(declared[number]->name);
    values_[number] = found == given.end() ? declared[number]->preset : found->second;
  }
}

Parameters ParameterValues::by_name() const {
  Parameters named;
  for (std::size_t number = 0; number < declared_.size(); ++number) named[declared_[number]->name] = values_[number];
  return named;
}

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::bytes: return "bytes";
    case Unit::row_bytes: return "row_bytes";
    case Unit::ranks: return "ranks";
    case Unit::nodes: return "nodes";
    case Unit::node_ranks: return "node_ranks";
    case Unit::processes: return "processes";
  }
  return "?";
}

std::uint64_t limited(std::uint64_t value, Unit unit, const Topology& topology) {
  std::size_t most = 0;
  switch (unit) {
    case Unit::bytes:
    case Unit::row_bytes: return value;
    case Unit::processes: return std::max<std::uint64_t>(value, 1);
    case Unit::ranks: most = static_cast<std::size_t>(topology.size); break;
    case Unit::nodes: most = topology.nodes.size(); break;
    case Unit::node_ranks: most = static_cast<std::size_t>(topology.smallest_node()); break;
  }
  return std::clamp<std::uint64_t>(value, 1, std::max<std::size_t>(most, 1));
}

}  // namespace crossrail
