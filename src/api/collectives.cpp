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

Status make_plan(Communicator& communicator, const Shape& shape, Plan*& made) {
  const auto candidates =
      choose(communicator.tuning, communicator.settings.alltoall, communicator.topology, shape);
  std::string failures;
  for (const Candidate& candidate : candidates) {
    auto plan = std::make_unique<Plan>();
    plan->shape = shape;
    plan->topology = &communicator.topology;
    plan->links = communicator.links.get();
    plan->board = communicator.board.get();
    plan->parameters = candidate.parameters;
    plan->reason = candidate.origin + candidate.passed_over + failures;
    if (candidate.algorithm != nullptr) {
      plan->algorithm = candidate.algorithm->name;
      plan->run = candidate.algorithm->run;
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

Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers) {
  if (communicator.board != nullptr) {
    if (communicator.board->broken_up()) communicator.broken = true;
    communicator.board->enter(shape.hash(), shape.block_bytes);
  }
  static const Plan native_plan;
  if (communicator.broken) return {{}, &native_plan};
  Plan* plan = nullptr;
  Status status = plan_for(communicator, shape, plan);
  if (status.ok() && !plan->native()) status = plan->run(*plan, buffers);
  if (!status.ok()) communicator.broken = true;
  return {status, plan};
}

}  // namespace crossrail
