#include "mpi/observe/traffic.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

constinit thread_local crossrail_traffic traffic_of_last_call{};
constinit thread_local const char* algorithm_of_last_call = "native";

// Plans with equal values of these may be added up: collective, algorithm (both point to names of the catalogue), bytes of a block, ranks,
// nodes.
using Kind = std::tuple<std::string_view, std::string_view, std::uint64_t, int, int>;

struct Sum {
  Traffic moved;
  std::uint64_t calls = 0;
  std::uint64_t queue_pairs = 0, node_bytes = 0, scratch_bytes = 0;  // These are the largest values of any plan.
};

std::mutex traffic_mutex;
std::map<Kind, Sum>& sums() {
  static auto& all = *new std::map<Kind, Sum>;  // It is never destroyed, because reports are written late.
  return all;
}

void add(const PlanSummary& plan) {
  const std::lock_guard lock(traffic_mutex);
  Sum& sum = sums()[{name_of(plan.collective), plan.algorithm, plan.block_bytes, plan.ranks, plan.nodes}];
  sum.moved += plan.last;
  ++sum.calls;
  sum.queue_pairs = std::max(sum.queue_pairs, plan.partners);
  sum.node_bytes = std::max(sum.node_bytes, plan.node_bytes);
  sum.scratch_bytes = std::max(sum.scratch_bytes, plan.scratch_bytes);
}

}  // namespace

void note_traffic(const Plan* plan) {
  if (plan == nullptr || plan->native()) {
    traffic_of_last_call = {};
    return;
  }
  const Traffic& last = plan->last;
  traffic_of_last_call = {last.sends, last.sent_bytes, last.local_sends, last.staged_bytes, plan->remote_partner_count, plan->node_bytes, plan->scratch_bytes, plan->calls};
  if (counting()) add(summary_of(*plan));
}

void note_traffic(const PlanSummary& plan) {
  traffic_of_last_call = {plan.last.sends, plan.last.sent_bytes, plan.last.local_sends, plan.last.staged_bytes, plan.partners, plan.node_bytes, plan.scratch_bytes, plan.calls};
  if (!plan.native && counting()) add(plan);
}

void note_native() {
  traffic_of_last_call = {};
  algorithm_of_last_call = "native";
}

crossrail_traffic last_traffic() { return traffic_of_last_call; }

std::string traffic_json() {
  const std::lock_guard lock(traffic_mutex);
  std::string json = "[";
  for (const auto& [kind, sum] : sums()) {
    const auto& [collective, algorithm, block_bytes, ranks, nodes] = kind;
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    char text[512];
    std::snprintf(text, sizeof text,
                  "%s{\"collective\":\"%s\",\"algorithm\":\"%s\",\"block_bytes\":%llu,\"ranks\":%d,\"nodes\":%d,"
                  "\"calls\":%llu,\"sends\":%llu,\"sent_bytes\":%llu,\"local_sends\":%llu,\"staged_bytes\":%llu,"
                  "\"queue_pairs\":%llu,\"node_bytes\":%llu,\"scratch_bytes\":%llu}",
                  json.size() == 1 ? "" : ",", collective.data(), algorithm.data(), number(block_bytes), ranks, nodes,
                  number(sum.calls), number(sum.moved.sends), number(sum.moved.sent_bytes), number(sum.moved.local_sends),
                  number(sum.moved.staged_bytes), number(sum.queue_pairs), number(sum.node_bytes), number(sum.scratch_bytes));
    json += text;
  }
  return json + "]";
}

void note_algorithm(const char* algorithm) { algorithm_of_last_call = algorithm; }

const char* last_algorithm() { return algorithm_of_last_call; }

}  // namespace crossrail::mpi
