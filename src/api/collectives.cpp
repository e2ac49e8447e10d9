#include "api/collectives.h"

#include "base/log.h"
#include "selection/selection.h"

namespace crossrail {
namespace {

// Worst code over all ranks. Within the node through the board, which also notices a rank that
// came with another Shape; then across nodes.
Status agree(Communicator& communicator, Code mine, Code& worst) {
  worst = mine;
  if (communicator.board != nullptr) CROSSRAIL_TRY(communicator.board->agree(mine, worst));
  if (communicator.topology.one_node() && communicator.board != nullptr) return {};
  return communicator.links->agree(worst, worst);
}

std::unique_ptr<Plan> unplanned(Communicator& communicator, const Shape& shape, const Candidate& candidate) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape;
  plan->topology = &communicator.topology;
  plan->links = communicator.links.get();
  plan->board = communicator.board.get();
  plan->node_memory = &communicator.node_memory;
  plan->number = ++communicator.plan_number;
  plan->remote_partners.resize(communicator.topology.size);
  plan->parameters = candidate.parameters;
  plan->reason = candidate.origin + candidate.passed_over;
  if (candidate.algorithm == nullptr) return plan;
  plan->algorithm = candidate.algorithm->name;
  plan->run = candidate.algorithm->run;
  return plan;
}

Status make_plan(Communicator& communicator, const Shape& shape, Plan*& made) {
  const auto candidates =
      choose(communicator.tuning, wanted_algorithm(communicator.settings, shape.collective), communicator.topology, shape);
  if (candidates.front().algorithm != nullptr) {
    // First of all, that everybody is here with the same Shape: plans may communicate.
    Code met = Code::ok;
    CROSSRAIL_TRY(agree(communicator, Code::ok, met));
    if (communicator.board != nullptr) CROSSRAIL_TRY(communicator.board->look());
  }
  std::string failures;
  for (const Candidate& candidate : candidates) {
    auto plan = unplanned(communicator, shape, candidate);
    plan->reason += failures;
    if (candidate.algorithm != nullptr) {
      const Status mine = candidate.algorithm->plan(*plan);
      Code worst = Code::ok;
      CROSSRAIL_TRY(agree(communicator, mine.code, worst));
      if (worst != Code::ok) {
        failures += std::string(" ") + candidate.algorithm->name + " failed: " +
                    (mine.ok() ? "on another rank;" : std::string(mine.what) + ";");
        continue;
      }
    }
    if (communicator.topology.rank == 0) log_line(LogLevel::plan, "%s", plan->text().c_str());
    made = &communicator.plans->add(std::move(plan));
    return {};
  }
  return failed(Code::broken, "no candidate, not even native");  // choose() always ends with native
}

}  // namespace

Status plan_for(Communicator& communicator, const Shape& shape, Plan*& plan) {
  plan = communicator.plans->find(shape);
  if (plan != nullptr) return {};
  return make_plan(communicator, shape, plan);
}

namespace {

// Every call, native ones too, says at once what it is: others may have to ask.
void enter(Communicator& communicator, std::uint64_t shape_hash, std::uint64_t block_bytes) {
  if (communicator.board != nullptr) communicator.board->enter(shape_hash, block_bytes);
  communicator.links->enter(shape_hash, block_bytes);
}

Status run_plan(Plan& plan, const Buffers& buffers) {
  plan.last = {};
  const Status status = plan.run(plan, buffers);
  ++plan.calls;
  plan.total += plan.last;
  return status;
}

void break_up(Communicator& communicator, Code code) {
  communicator.broken = true;
  if (communicator.board != nullptr) communicator.board->break_up(code);
  communicator.links->announce(code);
}

}  // namespace

Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers) {
  static const Plan native_plan;
  enter(communicator, shape.hash(), shape.block_bytes);
  if (communicator.broken) return {{}, &native_plan};
  if (communicator.board != nullptr && communicator.board->broken_up()) {
    communicator.broken = true;
    return {communicator.board->broken_in_this_call(), &native_plan};
  }
  Plan* plan = nullptr;
  Status status = plan_for(communicator, shape, plan);
  if (status.ok() && !plan->native()) status = run_plan(*plan, buffers);
  if (!status.ok()) break_up(communicator, status.code);
  return {status, plan};
}

void withdraw(Communicator& communicator, const Shape& shape, Code code) {
  enter(communicator, ~shape.hash(), shape.block_bytes);
  break_up(communicator, code);
}

}  // namespace crossrail
