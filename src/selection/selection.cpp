#include "selection/selection.h"

#include <algorithm>

namespace crossrail {
namespace {

// A call as tuning tables see it.
struct Case {
  const Ground& ground;
  const Shape& shape;
  MpiVersion mpi;
};

std::uint64_t count(int value) { return static_cast<std::uint64_t>(value); }

bool suits(const TuningRow& row, const Topology& topology) {
  return row.nodes.contains(count(topology.node_count())) && row.ranks_per_node.contains(count(topology.largest_node()));
}

// Numbers before names: every new Shape is compared with all rows.
bool matches(const TuningRow& row, const Case& one, std::string_view memory) {
  return one.shape.block_bytes <= row.up_to_bytes && suits(row, one.ground.topology) &&
         row.ranks_per_device.contains(count(one.ground.ranks_per_device)) && row.mpi.contains(one.mpi) && row.memory == memory &&
         row.collective == name_of(one.shape.collective);
}

// Whether what the collective combines must be in the order of the ranks, which the MPI library promises nobody.
bool wants_rank_order(const Topology& topology, Collective collective) {
  return topology.rank_order && row_of(collective).reduces && topology.size > 1;
}

Case case_of(const Ground& ground, const Shape& shape) {
  Case one{ground, shape, {}};
  (void)parse_mpi_version(ground.topology.mpi, one.mpi);
  return one;
}

// Empty if it is a candidate.
std::string why_not(const std::string& name, const Algorithm* algorithm, const Case& one) {
  if (name == "native") return wants_rank_order(one.ground.topology, one.shape.collective) ? "has an order of its own" : "";
  return algorithm == nullptr ? "is unknown" : why_unfit(*algorithm, one.ground.topology, one.shape);
}

bool has(const std::vector<Candidate>& candidates, std::string_view name) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) { return one.algorithm != nullptr && name == one.algorithm->name; });
}

// Needs no memory that might not be there.
const char* by_messages(const Topology& topology, Collective collective) {
  switch (collective) {
    case Collective::allreduce: return topology.rank_order ? "rank_order" : "recursive_doubling";
    case Collective::allgather: return "ring";
    default: return is_rooted(collective) ? "direct" : "pairwise";
  }
}

}  // namespace

std::string why_unfit(const Algorithm& algorithm, const Topology& topology, const Shape& shape) {
  const Fit fit = algorithm.fit(topology, shape);
  if (fit.missing() != nullptr) return std::string("does not fit: it needs ") + fit.missing();
  return fit.takes(shape.block_bytes) ? "" : "does not fit: it needs blocks of at most " + std::to_string(fit.most_bytes()) + " bytes";
}

bool could_serve(const std::vector<TuningRow>& rows, const Settings& settings, const Topology& topology, bool devices) {
  for (const Collective collective : kCollectives) {
    const std::string& wanted = wanted_algorithm(settings, collective);
    if (!wanted.empty() && wanted != "native") return true;
  }
  if (topology.size == 1) return false;  // but in a stream's order, for which a rank alone gets ready when it asks
  if (settings.reproducible != 0) return true;
  MpiVersion mpi;
  (void)parse_mpi_version(topology.mpi, mpi);
  return std::any_of(rows.begin(), rows.end(), [&](const TuningRow& row) {
    const bool of_devices = row.memory != name_of(Memory::host) && !topology.one_node();
    return row.algorithm != "native" && suits(row, topology) && row.mpi.contains(mpi) && (devices || !of_devices);
  });
}

std::vector<Candidate> choose(const std::vector<TuningRow>& rows, const std::string& wanted,
                              const Ground& ground, const Shape& shape) {
  const Topology& topology = ground.topology;
  std::vector<Candidate> candidates;
  std::string passed_over;
  const Case now = case_of(ground, shape);
  const auto consider = [&](const std::string& name, const Parameters& parameters, const std::string& origin) {
    const Algorithm* algorithm = find_algorithm(shape.collective, name, shape.memory);
    if (const std::string why = why_not(name, algorithm, now); !why.empty()) {
      passed_over += " " + name + " of " + origin + " " + why + ";";
      return;
    }
    candidates.push_back({algorithm, {}, origin, false, passed_over});
    if (algorithm != nullptr) candidates.back().parameters = effective_parameters(*algorithm, parameters);
  };
  if (!wanted.empty()) {
    Wanted asked;
    const Status status = read_wanted(shape.collective, wanted, asked);
    if (!status.ok()) passed_over += std::string(" the setting is ignored: ") + status.what + ";";
    if (status.ok()) consider(asked.algorithm, asked.parameters, "setting");
  }
  const auto consider_rows = [&](const char* memory) {
    for (const TuningRow& row : rows) {
      if (matches(row, now, memory)) consider(row.algorithm, row.parameters, row.origin);
    }
  };
  if (ground.devices_of_nodes) consider_rows(name_of(Memory::device));
  consider_rows(ground_of(shape));
  if (shape.order == Order::stream) {
    std::erase_if(candidates, [](const Candidate& one) { return one.algorithm == nullptr; });
    return candidates;
  }
  if (wants_rank_order(topology, shape.collective) && shape.memory == Memory::host) {
    for (const char* const name : {"node_shared", by_messages(topology, shape.collective)}) {
      if (!has(candidates, name)) consider(name, {}, "CROSSRAIL_REPRODUCIBLE");
    }
  }
  candidates.push_back({nullptr, {}, "last row", true, passed_over});
  return candidates;
}

namespace {

// Null if there is none.
const Algorithm* never_fails(const Ground& ground, const Shape& shape) {
  const Topology& topology = ground.topology;
  const bool shared = topology.one_node() && topology.shared_segment;
  const char* const name = shared ? "node_shared" : ground.messages ? by_messages(topology, shape.collective) : "";
  const Algorithm* found = find_algorithm(shape.collective, name, Memory::host);
  return found != nullptr && found->fits(topology, shape) ? found : nullptr;
}

}  // namespace

std::vector<Candidate> choose_without_native(const std::vector<TuningRow>& rows, const std::string& wanted,
                                             const Ground& ground, const Shape& shape) {
  const bool native = choose(rows, wanted, ground, shape).front().algorithm == nullptr;
  return native ? std::vector<Candidate>{} : choose_anything_but_native(rows, wanted, ground, shape);
}

std::vector<Candidate> choose_anything_but_native(const std::vector<TuningRow>& rows, const std::string& wanted,
                                                  const Ground& ground, const Shape& shape) {
  std::vector<Candidate> candidates = choose(rows, wanted, ground, shape);
  const Algorithm* const last = never_fails(ground, shape);
  if (last == nullptr) return {};
  std::erase_if(candidates, [](const Candidate& one) { return one.algorithm == nullptr; });
  if (shape.memory == Memory::host) candidates.push_back({last, effective_parameters(*last, {}), "what cannot fail", true, ""});
  return candidates;
}

}  // namespace crossrail
