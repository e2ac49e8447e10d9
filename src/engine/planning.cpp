// Plans: which algorithm a call gets, made by all ranks together.

#include <algorithm>

#include "base/log.h"
#include "base/trace.h"
#include "engine/engine.h"
#include "selection/selection.h"

namespace crossrail {
namespace {

Status agree(Slot& slot, Code mine, Code& worst) {
  std::uint32_t largest = 0;
  CROSSRAIL_TRY(agree_on_largest(slot, static_cast<std::uint32_t>(mine), largest));
  worst = static_cast<Code>(largest);
  return {};
}

std::unique_ptr<Plan> unplanned(Slot& slot, const Shape& shape, const Candidate& candidate) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape;
  plan->topology = &slot.owner.topology;
  plan->group = plan->topology->world();
  plan->links = slot.links.get();
  plan->courier_team = slot.owner.couriers.get();
  plan->control = slot.control.get();
  plan->devices = slot.devices.get();
  plan->settings = &slot.owner.settings;
  plan->node_memory = &slot.node_memory;
  plan->slot_scratch = &slot.scratch;
  plan->number = ++slot.plan_number;
  plan->parameters = candidate.parameters;
  plan->reason = candidate.origin + candidate.passed_over;
  plan->fallback = candidate.fallback;
  if (candidate.algorithm == nullptr) return plan;
  plan->remote_partners.resize(slot.owner.topology.size);
  plan->algorithm = candidate.algorithm->name;
  plan->run = candidate.algorithm->run;
  return plan;
}

std::vector<Candidate> candidates_if_pending(const Communicator& communicator, const Shape& shape, const Ground& ground) {
  return choose_without_native(*communicator.tuning, wanted_algorithm(communicator.settings, shape.collective), ground, shape);
}

// Once the sides of a call are known to be on devices, so is which ranks share one.
Ground ground_for(const Slot& slot, const Shape& shape, const Seen& seen) {
  Ground ground{slot.owner.topology, slot.messages};
  ground.devices_of_nodes = seen.devices_of_nodes;
  if (shape.memory == Memory::host) return ground;
  for (const Group& ranks : slot.devices->queue().devices()) ground.ranks_per_device = std::max(ground.ranks_per_device, ranks.size());
  return ground;
}

std::vector<Candidate> candidates_for(const Slot& slot, const Shape& shape, const Seen& seen = {}) {
  const Communicator& communicator = slot.owner;
  const Ground ground = ground_for(slot, shape, seen);
  if (slot.pending) return candidates_if_pending(communicator, shape, ground);
  if (seen.never_native) {
    auto carried = choose_anything_but_native(*communicator.tuning, wanted_algorithm(communicator.settings, shape.collective), ground, shape);
    if (!carried.empty()) return carried;
  }
  return choose(*communicator.tuning, wanted_algorithm(communicator.settings, shape.collective), ground, shape);
}

Status make_plan(Slot& slot, const Shape& shape, const Seen& seen, Plan*& made) {
  const trace::Slice traced(trace::on() ? trace::begin({"plan", trace::Kind::phase, shape.block_bytes, -1, slot.links->traced_call()}) : 0);
  const auto candidates = candidates_for(slot, shape, seen);
  if (!candidates.empty() && candidates.front().algorithm != nullptr) {
    // First of all, that everybody is here with the same Shape: plans may communicate.
    Code met = Code::ok;
    CROSSRAIL_TRY(agree(slot, Code::ok, met));
    if (slot.control != nullptr) CROSSRAIL_TRY(slot.control->check_health());
  }
  std::string failures;
  for (const Candidate& candidate : candidates) {
    auto plan = unplanned(slot, shape, candidate);
    plan->reason += failures;
    if (candidate.algorithm != nullptr) {
      const Status mine = candidate.algorithm->plan(*plan);
      const std::string why = mine.what;
      Code worst = Code::ok;
      CROSSRAIL_TRY(agree(slot, mine.code, worst));
      if (worst != Code::ok) {
        failures += std::string(" ") + candidate.algorithm->name + " failed: " + (mine.ok() ? "on another rank" : why) + ";";
        continue;
      }
    }
    if (slot.owner.topology.rank == 0) log_line(LogLevel::plan, "%s", plan->text().c_str());
    made = &slot.plans.add(std::move(plan));
    return {};
  }
  if (shape.order == Order::stream) return failure(Code::unsupported, "no algorithm can do it:%s", failures.c_str());
  return failed(Code::no_memory, "no algorithm could be planned for a pending call");
}

}  // namespace

Status agree_on_largest(Slot& slot, std::uint32_t mine, std::uint32_t& largest) {
  largest = mine;
  if (slot.control != nullptr) CROSSRAIL_TRY(slot.control->agree_on_largest(mine, largest));
  if (slot.owner.topology.one_node() && slot.control != nullptr) return {};
  return slot.links->agree_on_largest(largest, largest);
}

bool can_be_pending(Communicator& communicator, const Shape& shape) {
  if (communicator.slots.size() < 2) return false;
  const bool messages = communicator.slot(1).links->messages_open();
  const Shape any = shape.of_any_root();
  PendingDecision& known = communicator.decisions[any.hash() % communicator.decisions.size()];
  if (known.known && known.shape == any && known.messages == messages) return known.can;
  known = {any, true, messages, !candidates_if_pending(communicator, shape, {communicator.topology, messages}).empty()};
  return known.can;
}

bool has_row(const Slot& slot, const Shape& shape) { return !candidates_for(slot, shape).empty(); }

Status plan_for(Slot& slot, const Shape& shape, Plan*& plan, const Seen& seen) {
  plan = slot.plans.find(shape);
  if (plan != nullptr) return {};
  return make_plan(slot, shape, seen, plan);
}

}  // namespace crossrail
