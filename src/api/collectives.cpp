#include "api/collectives.h"

#include "base/log.h"
#include "collectives/on_stream.h"
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
  plan->devices = communicator.devices.get();
  plan->node_memory = &communicator.node_memory;
  plan->number = ++communicator.plan_number;
  plan->remote_partners.resize(communicator.topology.size);
  plan->parameters = candidate.parameters;
  plan->reason = candidate.origin + candidate.passed_over;
  plan->last_resort = candidate.last_resort;
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
  if (communicator.devices != nullptr) communicator.devices->abandon();
}

Status run_on_host(Communicator& communicator, const Shape& shape, Sides& sides, Plan*& plan) {
  CROSSRAIL_TRY(plan_for(communicator, shape, plan));
  if (plan->native()) return {};
  Buffers buffers;
  CROSSRAIL_TRY(sides.open(buffers));
  CROSSRAIL_TRY(run_plan(*plan, buffers));
  return sides.close();
}

// Leaves `plan` null where the call must go through host memory: some rank has a side there, no
// algorithm fits, or (seen by all ranks alike) some rank cannot map the memory of another.
Status run_on_devices(Communicator& communicator, Shape shape, Sides& sides, Plan*& plan) {
  DeviceBoard& devices = *communicator.devices;
  CROSSRAIL_TRY(devices.look_for_modules());
  if (!devices.active()) return {};
  shape.memory = Memory::device;
  DeviceCall call = sides.on_devices();
  call.block_bytes = shape.block_bytes;
  call.send.ours = call.send.ours || shape.in_place;
  Plan* known = communicator.plans->find(shape);
  bool on_devices = false;
  CROSSRAIL_TRY(devices.meet(call, known == nullptr ? Window::none : known->window, on_devices));
  if (!on_devices) return {};
  if (known == nullptr) {
    CROSSRAIL_TRY(plan_for(communicator, shape, known));
    if (known->window != Window::none) CROSSRAIL_TRY(devices.meet(call, known->window, on_devices));
  }
  if (known->native() && !known->last_resort) plan = known;  // a row says so
  if (known->native() || !on_devices) return {};
  const Status status = run_plan(*known, sides.device_buffers());
  if (status.code == Code::unsupported) {
    log_line(LogLevel::plan, "this call goes through host memory: %s", status.what);
    return {};
  }
  plan = known;
  return status;
}

}  // namespace

Outcome run_collective(Communicator& communicator, const Shape& shape, Sides& sides) {
  static const Plan native_plan;
  enter(communicator, shape.hash(), shape.block_bytes);
  if (communicator.broken) return {{}, &native_plan};
  if (communicator.board != nullptr && communicator.board->broken_up()) {
    communicator.broken = true;
    return {communicator.board->broken_in_this_call(), &native_plan};
  }
  Plan* plan = nullptr;
  Status status;
  const bool maybe_on_devices = communicator.devices != nullptr && shape.collective == Collective::alltoall && shape.block_bytes > 0;
  if (maybe_on_devices) status = run_on_devices(communicator, shape, sides, plan);
  if (status.ok() && plan == nullptr) status = run_on_host(communicator, shape, sides, plan);
  if (!status.ok()) break_up(communicator, status.code);
  return {status, plan};
}

Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers) {
  PlainSides sides(buffers, shape.block_bytes * static_cast<std::size_t>(communicator.topology.size));
  return run_collective(communicator, shape, sides);
}

namespace {

Status enqueue(Communicator& communicator, const Shape& shape, Sides& sides, void* stream) {
  if (communicator.broken) return failed(Code::broken, "this communicator has met an error");
  if (communicator.devices == nullptr) return failed(Code::unsupported, "the ranks are not on one node, or share no memory there");
  DeviceBoard& devices = *communicator.devices;
  CROSSRAIL_TRY(devices.look_for_modules(DeviceBoard::When::now));
  if (!devices.active()) return failed(Code::unsupported, "some rank has no device module");
  if (shape.in_place) return failed(Code::unsupported, "not in place");
  const StreamCall on_stream{communicator.topology, devices, static_cast<std::size_t>(shape.block_bytes), stream};
  DeviceCall call = sides.on_devices();
  call.block_bytes = on_stream.block_bytes;
  bool on_devices = false;
  CROSSRAIL_TRY(devices.meet(call, window_on_stream(on_stream), on_devices));
  if (!on_devices) return failed(Code::unsupported, "some rank's buffers are not in device memory, or have gaps");
  return alltoall_on_stream(on_stream, sides.device_buffers());
}

}  // namespace

Status run_on_stream(Communicator& communicator, const Shape& shape, Sides& sides, void* stream) {
  enter(communicator, shape.hash(), shape.block_bytes);
  const Status status = shape.block_bytes == 0 ? Status{} : enqueue(communicator, shape, sides, stream);
  const bool harmless = status.ok() || status.code == Code::unsupported || status.code == Code::no_memory;
  if (!harmless) break_up(communicator, status.code);
  return status;
}

void withdraw(Communicator& communicator, const Shape& shape, Code code) {
  enter(communicator, ~shape.hash(), shape.block_bytes);
  break_up(communicator, code);
}

}  // namespace crossrail
