// crossrail_explain says which plan a call would get, and why not the others.

#include <algorithm>
#include <string>
#include <vector>

#include "api/table.h"
#include "base/json.h"
#include "base/settings.h"
#include "comm/communicator.h"
#include "crossrail/crossrail.h"
#include "selection/choice.h"
#include "selection/selection.h"
#include "topology/mpi_version.h"
#include "topology/topology.h"
#include "transport/control_block.h"

namespace crossrail {
namespace {

std::string json_of(const Parameters& parameters) {
  std::string json = "{";
  for (const auto& [name, value] : parameters) {
    json += (json.size() == 1 ? "" : ",") + json_text(name) + ":" + std::to_string(value);
  }
  return json + "}";
}

using Candidates = std::vector<const Candidate*>;

std::string json_of(const Candidates& candidates) {
  std::string json = "[";
  for (const Candidate* one : candidates) {
    json += (json.size() == 1 ? "" : ",") + std::string("{\"algorithm\":") + json_text(one->algorithm == nullptr ? "native" : one->algorithm->name) +
            ",\"origin\":" + json_text(one->origin) + ",\"parameters\":" + json_of(one->parameters.by_name()) + "}";
  }
  return json + "]";
}

std::string why_passed_over(const Algorithm& row, const Topology& topology, const Shape& shape) {
  const std::string unfit = why_unfit(row.fit(topology, shape), shape.block_bytes);
  return unfit.empty() ? "no row of the tuning tables names it for this layout and size" : unfit;
}

// Returns the rows of the catalogue that are not among the candidates, because they do not fit or because no row of the tables names them
// here.
std::string passed_over(const Candidates& candidates, const Topology& topology, const Shape& shape) {
  std::string json = "[";
  for (const Algorithm& row : catalogue(shape.collective, shape.memory)) {
    bool candidate = false;
    for (const Candidate* one : candidates) candidate = candidate || one->algorithm == &row;
    if (candidate) continue;
    json += (json.size() == 1 ? "" : ",") + std::string("{\"algorithm\":") + json_text(row.name) + ",\"why\":" +
            json_text(why_passed_over(row, topology, shape)) + "}";
  }
  return json + "]";
}

// The setting of an algorithm that makes no sense does not count.
Settings settings_that_count(std::string& warning) {
  Settings settings = process_settings();
  warning = ignore_senseless_algorithms(settings);
  return settings;
}

std::vector<TuningRow> tuning_rows(std::string& warning) {
  std::vector<TuningRow> rows;
  const std::string& path = process_settings().tuning;
  if (!path.empty()) {
    const std::string wrong = read_table(path, rows);
    if (!wrong.empty()) warning += (warning.empty() ? "" : "; ") + wrong;
  }
  (void)read_tuning(default_tuning(), "default.csv", rows);
  return rows;
}

const char* chosen_of(const Candidates& candidates, bool enabled) {
  if (candidates.empty()) return "none";
  return !enabled || candidates.front()->algorithm == nullptr ? "native" : candidates.front()->algorithm->name;
}

// An Answer says what is chosen for calls of a Shape: blocking ones and, if they are asked for, nonblocking ones.
struct Answer {
  Answer(const std::vector<TuningRow>& rows, const std::string& wanted, const Ground& ground, const Shape& shape)
      : blocking(rows, wanted, ground, shape), pending(rows, wanted, pending_on(ground), shape), bytes(shape.block_bytes) {
    nothing_pending.origin = "no algorithm can be pending here";
  }
  static Ground pending_on(Ground ground) {
    ground.form = Form::pending;
    return ground;
  }
  // Once a nonblocking call has begun, it cannot be handed to the MPI library. On several nodes it may use messages.
  Candidates candidates(bool nonblocking) const {
    const Candidates& all = blocking.at(bytes).candidates;
    if (!nonblocking || all.empty() || all.front()->algorithm == nullptr) return all;
    const Candidates& ours = pending.at(bytes).candidates;
    return ours.empty() ? Candidates{&nothing_pending} : ours;
  }
  Choice blocking, pending;
  Candidate nothing_pending;
  std::uint64_t bytes;
};

bool known_form(const std::string& form) { return form == "blocking" || form == "nonblocking" || form == "persistent"; }

// Calls in a stream's order are for ranks that can wait for each other on their devices. There is no other way to make such calls.
std::string refused_on_streams(const crossrail_question& question, const CollectiveRow& row, const Topology& topology) {
  if (!topology.one_node()) return "calls in a stream's order are for ranks on one node";
  if (question.ranks_per_device > 1) return "calls in a stream's order are for ranks with a device of their own each";
  const bool may_be_in_place = row.collective == Collective::allreduce || row.collective == Collective::allgather;
  return question.in_place != 0 && !may_be_in_place ? "such calls in a stream's order are not in place" : "";
}

std::string explain(const crossrail_question& question) {
  const CollectiveRow* collective = find_collective(question.collective == nullptr ? "" : question.collective);
  if (collective == nullptr) return "{\"error\":" + json_text("collective: one of " + collective_names()) + "}";
  const std::string memory = question.memory == nullptr ? name_of(Memory::host) : question.memory;
  const Order order = memory == "stream" ? Order::stream : Order::call;
  const bool on_devices = memory == name_of(Memory::device) || order == Order::stream;
  if (!on_devices && memory != name_of(Memory::host)) return "{\"error\":\"memory: host, device or stream\"}";
  const std::string form = question.form == nullptr ? "blocking" : question.form;
  if (!known_form(form)) return "{\"error\":\"form: blocking, nonblocking or persistent\"}";
  if (question.size < 1) return "{\"error\":\"size: a communicator has at least one rank\"}";
  std::vector<int> node_of(question.size, 0);
  if (question.node_of != nullptr) node_of.assign(question.node_of, question.node_of + question.size);
  Topology topology = topology_from_nodes(node_of, 0);
  topology.shared_segment = question.shared_segment != 0 && topology.size > 1;
  topology.single_copy = topology.shared_segment && question.single_copy != 0 && process_settings().single_copy != 0;
  std::string warning;
  Settings settings = settings_that_count(warning);
  settle(topology, settings);
  topology.mpi = mpi_name(question.mpi == nullptr ? "" : question.mpi);
  const bool of_nodes = on_devices && order == Order::call && !topology.one_node();
  const Ground ground{topology, !topology.one_node(), std::max(1, question.ranks_per_device), of_nodes};
  Shape shape{collective->collective, on_devices && !of_nodes ? Memory::device : Memory::host, question.in_place != 0, question.block_bytes, order};
  if (collective->counts == Counts::vector) shape = {collective->collective, Memory::host, false, 0};
  // This Reduction stands for all. It makes no difference which one it is, except whether the order of combining shows.
  if (collective->reduces) shape.reduction = {Operation::sum, topology.rank_order ? Element::float64 : Element::uint8};
  const Answer answer(tuning_rows(warning), wanted_algorithm(settings, shape.collective), ground, shape);
  const std::string refused = order == Order::stream ? refused_on_streams(question, *collective, topology) : "";
  const auto candidates = refused.empty() ? answer.candidates(form == "nonblocking") : Candidates{};
  if (!refused.empty()) warning += (warning.empty() ? "" : "; ") + refused;
  const auto segment = control_block_layout(topology.largest_node(), topology.scratch_bytes).total_bytes();
  const bool on = process_settings().enabled != 0;
  return "{\"topology\":" + json_text(topology.text()) + ",\"mpi\":" + json_text(topology.mpi) + ",\"chosen\":" +
         json_text(chosen_of(candidates, on)) +
         ",\"enabled\":" + (on ? "true" : "false") +
         ",\"segment_bytes_per_node\":" + std::to_string(topology.shared_segment ? segment : 0) +
         ",\"candidates\":" + json_of(candidates) + ",\"passed_over\":" + passed_over(candidates, topology, shape) +
         ",\"warning\":" + json_text(warning) + "}";
}

}  // namespace
}  // namespace crossrail

extern "C" __attribute__((visibility("default"))) const char* crossrail_explain(const crossrail_question* question) {
  static thread_local std::string json;
  json = question == nullptr ? "{\"error\":\"no question\"}" : crossrail::explain(*question);
  return json.c_str();
}
