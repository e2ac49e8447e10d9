#include "selection/choice.h"

#include <algorithm>

#include "selection/selection.h"

namespace crossrail {
namespace {

std::uint64_t count(int value) { return static_cast<std::uint64_t>(value); }

// Returns whether the collective must combine in the order of the ranks. MPI libraries promise no such order.
bool wants_rank_order(const Topology& topology, Collective collective) {
  return topology.rank_order && row_of(collective).reduces && topology.size > 1;
}

// Returns an algorithm that needs no memory that might not be there.
const char* by_messages(const Topology& topology, Collective collective) {
  switch (collective) {
    case Collective::allreduce: return topology.rank_order ? "rank_order" : "recursive_doubling";
    case Collective::allgather:
    case Collective::allgatherv: return "ring";
    default: return is_rooted(collective) ? "direct" : "pairwise";
  }
}

}  // namespace

std::string why_unfit(const Fit& fit, std::uint64_t bytes) {
  if (fit.missing() != nullptr) return std::string("does not fit: it needs ") + fit.missing();
  return fit.takes(bytes) ? "" : "does not fit: it needs blocks of at most " + std::to_string(fit.most_bytes()) + " bytes";
}

Choice::Choice(const std::vector<TuningRow>& rows, const std::string& wanted, const Ground& ground, const Shape& shape)
    : topology_(&ground.topology), shape_(shape), form_(ground.form) {
  native_.origin = "last row";
  native_.fallback = true;
  consider_setting(wanted);
  if (ground.devices_of_nodes) consider_rows(rows, ground, name_of(Memory::device));
  consider_rows(rows, ground, ground_of(shape));
  if (shape.order == Order::call) consider_rank_order();
  find_last_resort(ground);
  find_intervals();
  topology_ = nullptr;
}

void Choice::consider(const std::string& name, const Parameters& parameters, Option option) {
  option.name = name;
  if (name == "native") {
    if (wants_rank_order(*topology_, shape_.collective)) option.refused = "has an order of its own";
  } else if (const Algorithm* const algorithm = find_algorithm(shape_.collective, name, shape_.memory); algorithm != nullptr) {
    option.candidate.algorithm = algorithm;
    option.candidate.parameters = ParameterValues(algorithm->parameters, parameters);
    option.candidate.fit = algorithm->fit(*topology_, shape_);
  } else {
    option.refused = "is unknown";
  }
  options_.push_back(std::move(option));
}

void Choice::consider_setting(const std::string& wanted) {
  if (wanted.empty()) return;
  Wanted asked;
  const Status status = read_wanted(shape_.collective, wanted, asked);
  Option option;
  if (status.ok()) {
    option.candidate.origin = "setting";
    consider(asked.algorithm, asked.parameters, std::move(option));
  } else {
    option.name = "the setting";
    option.refused = std::string("is ignored: ") + status.what;
    options_.push_back(std::move(option));
  }
}

void Choice::consider_rows(const std::vector<TuningRow>& rows, const Ground& ground, const char* memory) {
  MpiVersion mpi;
  (void)parse_mpi_version(topology_->mpi, mpi);
  for (const TuningRow& row : rows) {
    // Numbers are compared before names, which take longer to compare.
    const bool matches = suits(row, *topology_) && row.ranks_per_device.contains(count(ground.ranks_per_device)) && row.memory == memory &&
                         row.collective == name_of(shape_.collective) && row.mpi.contains(mpi);
    if (!matches) continue;
    Option option;
    option.candidate.origin = row.origin;
    option.up_to_bytes = row.up_to_bytes;
    consider(row.algorithm, row.parameters, std::move(option));
  }
}

void Choice::consider_rank_order() {
  if (!wants_rank_order(*topology_, shape_.collective) || shape_.memory != Memory::host) return;
  for (const char* const name : {"node_shared", by_messages(*topology_, shape_.collective)}) {
    Option option;
    option.candidate.origin = "CROSSRAIL_REPRODUCIBLE";
    option.once = true;
    consider(name, {}, std::move(option));
  }
}

void Choice::find_last_resort(const Ground& ground) {
  const bool shared = topology_->one_node() && topology_->shared_segment;
  const char* const name = shared ? "node_shared" : ground.messages ? by_messages(*topology_, shape_.collective) : "";
  const Algorithm* const found = find_algorithm(shape_.collective, name, Memory::host);
  if (found == nullptr) return;
  last_resort_ = {found, ParameterValues(found->parameters), found->fit(*topology_, shape_), "what cannot fail", true};
}

std::vector<const Candidate*> Choice::blocking_at(std::uint64_t bytes) const {
  const bool native_knows_them = shape_.order == Order::call;
  std::vector<const Candidate*> candidates;
  for (const Option& one : options_) {
    const Algorithm* const algorithm = one.candidate.algorithm;
    if (!one.is_for(bytes) || !one.can(bytes) || (algorithm == nullptr && !native_knows_them)) continue;
    const auto is_it = [&](const Candidate* other) { return other->algorithm == algorithm; };
    if (!one.once || std::none_of(candidates.begin(), candidates.end(), is_it)) candidates.push_back(&one.candidate);
  }
  if (native_knows_them) candidates.push_back(&native_);
  return candidates;
}

std::vector<const Candidate*> Choice::never_native_at(std::uint64_t bytes) const {
  if (last_resort_.algorithm == nullptr || !last_resort_.fit.takes(bytes)) return {};
  std::vector<const Candidate*> candidates = blocking_at(bytes);
  std::erase_if(candidates, [](const Candidate* one) { return one->algorithm == nullptr; });
  if (shape_.memory == Memory::host) candidates.push_back(&last_resort_);
  return candidates;
}

std::vector<const Candidate*> Choice::candidates_at(std::uint64_t bytes) const {
  std::vector<const Candidate*> candidates = blocking_at(bytes);
  if (form_ == Form::blocking) return candidates;
  const bool native_is_best = !candidates.empty() && candidates.front()->algorithm == nullptr;
  if (form_ == Form::pending) return native_is_best ? std::vector<const Candidate*>{} : never_native_at(bytes);
  std::vector<const Candidate*> ours = never_native_at(bytes);
  return ours.empty() ? candidates : ours;
}

void Choice::find_intervals() {
  std::vector<std::uint64_t> ends{last_resort_.fit.most_bytes(), ~std::uint64_t{0}};
  for (const Option& one : options_) ends.insert(ends.end(), {one.up_to_bytes, one.candidate.fit.most_bytes()});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::uint64_t from = 0;
  for (const std::uint64_t end : ends) {
    std::vector<const Candidate*> candidates = candidates_at(end);
    if (!intervals_.empty() && intervals_.back().candidates == candidates) {
      intervals_.back().up_to = end;
    } else {
      intervals_.push_back({from, end, std::move(candidates)});
    }
    from = end + 1;
  }
}

const Choice::Interval& Choice::at(std::uint64_t bytes) const {
  return *std::lower_bound(intervals_.begin(), intervals_.end(), bytes, [](const Interval& one, std::uint64_t wanted) { return one.up_to < wanted; });
}

std::string Choice::passed_over(const Candidate& candidate, std::uint64_t bytes) const {
  std::string sentences;
  for (const Option& one : options_) {
    if (&one.candidate == &candidate) break;
    if (!one.is_for(bytes) || one.can(bytes)) continue;
    sentences += " " + one.name + (one.candidate.origin.empty() ? "" : " of " + one.candidate.origin) + " " +
                 (one.refused.empty() ? why_unfit(one.candidate.fit, bytes) : one.refused) + ";";
  }
  return sentences;
}

}  // namespace crossrail
