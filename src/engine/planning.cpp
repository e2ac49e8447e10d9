// This file makes plans: which algorithm a call gets. Every rank makes them, and all together if planning may fail on some of them.

#include <algorithm>

#include "base/log.h"
#include "base/trace.h"
#include "engine/engine.h"
#include "selection/choices.h"
#include "selection/parameters.h"

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
  plan->helper_team = slot.owner.helpers.get();
  plan->control = slot.control.get();
  plan->devices = slot.devices.get();
  plan->settings = &slot.owner.settings;
  plan->node_memory = &slot.node_memory;
  plan->slot_scratch = &slot.scratch;
  plan->number = ++slot.plan_number;
  plan->parameters = candidate.parameters;
  plan->fallback = candidate.fallback;
  if (candidate.algorithm == nullptr) return plan;
  plan->remote_partners.resize(slot.owner.topology.size);
  plan->algorithm = candidate.algorithm->name;
  plan->run = candidate.algorithm->run;
  return plan;
}

const Choice& choice_of(Communicator& communicator, const Ground& ground, const Shape& shape) {
  std::call_once(communicator.choices_made, [&] {
    communicator.choices = Choices::shared(communicator.tuning, communicator.settings, communicator.topology);
  });
  return communicator.choices->of(ground, shape);
}

// When the sides of a call are known to be on devices, it is also known which ranks share a device.
Ground ground_for(const Slot& slot, const Shape& shape, const Seen& seen) {
  Ground ground{slot.owner.topology, slot.messages};
  ground.devices_of_nodes = seen.devices_of_nodes;
  ground.form = slot.pending ? Form::pending : seen.never_native ? Form::never_native : Form::blocking;
  if (shape.memory == Memory::host) return ground;
  for (const Group& ranks : slot.devices->queue().devices()) ground.ranks_per_device = std::max(ground.ranks_per_device, ranks.size());
  return ground;
}

// The Planner makes the plan of a Shape on all ranks.
class Planner {
 public:
  Planner(Slot& slot, const Shape& shape, const Seen& seen)
      : slot_(slot), shape_(shape), choice_(choice_of(slot.owner, ground_for(slot, shape, seen), shape)), interval_(choice_.at(shape.block_bytes)) {}

  Status make(Plan*& made) {
    for (const Candidate* const candidate : interval_.candidates) {
      if (candidate->algorithm != nullptr && nobody_meets_) continue;
      auto plan = unplanned(slot_, shape_, *candidate);
      Code worst = Code::ok;
      if (candidate->algorithm != nullptr) CROSSRAIL_TRY(try_out(*candidate, *plan, worst));
      if (worst != Code::ok) continue;
      find_sizes(*candidate, *plan);
      tell(*candidate, *plan);
      made = &slot_.plans.add(std::move(plan));
      return {};
    }
    if (shape_.order == Order::stream) return failure(Code::unsupported, "no algorithm can do it:%s", failures_.c_str());
    return failed(Code::no_memory, "no algorithm could be planned for a pending call");
  }

 private:
  // `worst` is the worst code of all ranks.
  Status try_out(const Candidate& candidate, Plan& plan, Code& worst) {
    const bool together = must_agree(candidate);
    if (together) {
      CROSSRAIL_TRY(meet());
      if (nobody_meets_) {
        worst = Code::unsupported;
        return {};
      }
    }
    const Status mine = candidate.algorithm->plan(plan);
    const std::string why = mine.ok() ? "on another rank" : mine.what;
    worst = mine.code;
    if (together) CROSSRAIL_TRY(agree(slot_, mine.code, worst));
    if (worst != Code::ok) failures_ += std::string(" ") + candidate.algorithm->name + " failed: " + why + ";";
    if (together && worst == Code::ok) remember(candidate);
    return {};
  }

  // What calls in a stream's order need, all ranks have or all lack.
  bool must_agree(const Candidate& candidate) const {
    if (shape_.order == Order::stream) return false;
    const Planning planning = candidate.fit.planning();
    if (planning != Planning::when_larger) return planning == Planning::together;
    return std::none_of(slot_.planned.begin(), slot_.planned.end(), [&](const Slot::Planned& one) {
      return one.candidate == &candidate && one.bytes >= shape_.block_bytes;
    });
  }

  void remember(const Candidate& candidate) {
    if (candidate.fit.planning() != Planning::when_larger) return;
    const auto is_its = [&](const Slot::Planned& one) { return one.candidate == &candidate; };
    const auto known = std::find_if(slot_.planned.begin(), slot_.planned.end(), is_its);
    if (known == slot_.planned.end()) {
      slot_.planned.push_back({&candidate, shape_.block_bytes});
    } else {
      known->bytes = std::max(known->bytes, shape_.block_bytes);
    }
  }

  // Checks, before a plan that may communicate, that all ranks are here with the same Shape.
  Status meet() {
    if (met_) return {};
    met_ = true;
    Code nothing = Code::ok;
    const Status agreed = agree(slot_, Code::ok, nothing);
    // All ranks know that messages cannot be opened. Nothing else serves to agree on a plan, so the call is native.
    nobody_meets_ = agreed.code == Code::unsupported;
    if (nobody_meets_) failures_ += std::string(" ") + agreed.what + ";";
    else CROSSRAIL_TRY(agreed);
    return slot_.control != nullptr ? slot_.control->check_health() : Status{};
  }

  // If a candidate failed, the plan serves only this size, since other sizes might not have failed. On several nodes with devices, it also serves
  // only this size, because the first call of every size says where its sides lie.
  void find_sizes(const Candidate& candidate, Plan& plan) {
    if (candidate.algorithm == nullptr && !slot_.owner.devices) plan.serve(0, Plan::kAnySize);
    if (!failures_.empty()) plan.sizes = {};
    if (plan.sizes.contain(shape_.block_bytes)) {
      plan.serve(std::max(plan.sizes.from, interval_.from), std::min(plan.sizes.up_to, interval_.up_to));
    } else {
      plan.sizes = {};
    }
  }

  void tell(const Candidate& candidate, Plan& plan) {
    const bool logged = slot_.owner.topology.rank == 0 && log_enabled(LogLevel::plan);
    if (!logged && failures_.empty()) return;
    plan.reason = candidate.origin + choice_.passed_over(candidate, shape_.block_bytes) + failures_;
    if (logged) log_line(LogLevel::plan, "%s", plan.text().c_str());
  }

  Slot& slot_;
  const Shape& shape_;
  const Choice& choice_;
  const Choice::Interval& interval_;
  bool met_ = false;
  bool nobody_meets_ = false;
  std::string failures_;
};

Status make_plan(Slot& slot, const Shape& shape, const Seen& seen, Plan*& made) {
  const trace::Slice traced(trace::on() ? trace::begin({"plan", trace::Kind::phase, shape.block_bytes, -1, slot.links->traced_call()}) : 0);
  return Planner(slot, shape, seen).make(made);
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
  PendingDecision& known = communicator.decision;
  const std::uint64_t kind = shape.kind(), bytes = shape.block_bytes;
  if (known.kind == kind && known.messages == messages && bytes >= known.from && bytes <= known.up_to) return known.can;
  Ground ground{communicator.topology, messages};
  ground.form = Form::pending;
  const Choice::Interval& interval = choice_of(communicator, ground, shape).at(bytes);
  known = {kind, interval.from, interval.up_to, messages, !interval.candidates.empty()};
  return known.can;
}

bool has_row(const Slot& slot, const Shape& shape) {
  return !choice_of(slot.owner, ground_for(slot, shape, {}), shape).at(shape.block_bytes).candidates.empty();
}

Status plan_for(Slot& slot, const Shape& shape, Plan*& plan, const Seen& seen) {
  plan = slot.plans.find(shape);
  if (plan != nullptr) return {};
  return make_plan(slot, shape, seen, plan);
}

}  // namespace crossrail
