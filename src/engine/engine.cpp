#include "engine/engine.h"

#include "base/log.h"
#include "engine/compared.h"
#include "engine/device_call.h"

namespace crossrail {
namespace {

Plan& native_plan() {
  static Plan& native = *new Plan;
  return native;
}

// Every call publishes at once what it is, even a native one, because other ranks may have to ask.
void begin_call(Slot& slot, std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place = false) {
  if (slot.control != nullptr) slot.control->begin_call(shape_hash, block_bytes, in_place);
  slot.links->begin_call(shape_hash, block_bytes, in_place);
}

// The call will not go on, and nothing may arrive in its buffers any more.
void end_work(Slot& slot) {
  slot.links->cancel_posted();
  if (slot.devices != nullptr) slot.devices->queue().abandon();
}

// The call on `slot` has failed, and the state that ranks share can no longer be trusted.
void break_up(Slot& slot, Code code) {
  slot.owner.break_up(code, slot);
  slot.links->report_error(code);
  end_work(slot);
}

// Plans a call on host memory that has no plan; on several nodes, also one whose sides may be on devices.
Status plan_on_host(Slot& slot, const Shape& shape, UserBuffers& user, Plan*& plan) {
  bool on_devices = false;
  CROSSRAIL_TRY(ask_for_drivers(slot));
  if (slot.owner.devices && !slot.pending) CROSSRAIL_TRY(first_on_devices(slot, shape, user, on_devices));
  return plan_for(slot, shape, plan, {on_devices, false});
}

// `plan` is null or the plan that the call already has; in the first case it is set.
Status run_on_host(Slot& slot, const Shape& shape, UserBuffers& user, Plan*& plan) {
  if (plan == nullptr || !slot.owner.topology.one_node()) CROSSRAIL_TRY(plan_on_host(slot, shape, user, plan));
  if (plan->native()) return {};
  if (may_be_given_back(slot)) {
    bool given_back = false;
    CROSSRAIL_TRY(is_given_back(slot, shape, given_back));
    if (given_back) {
      plan = &native_plan();
      return {};
    }
  }
  if (plan->run_on_devices != nullptr) {
    bool done = false;
    CROSSRAIL_TRY(run_on_devices_of_node(slot, user, *plan, done));
    if (done) return {};
  }
  Buffers buffers;
  CROSSRAIL_TRY(user.open(buffers, plan));
  CROSSRAIL_TRY(run_plan(*plan, buffers, plan->run));
  return user.close();
}

// Decides what happens to the slot's call after an error, the same on all ranks; Code::given_back means that MPI does the call.
Status judge(Slot& slot) {
  if (slot.links->judges()) return slot.links->judge();
  return slot.control == nullptr ? failed(Code::broken, "this communicator has met an error") : slot.control->judge();
}

// This rank has received everything. Returns false if the call may have been given back meanwhile.
bool end_call(Slot& slot) {
  const bool unbroken = slot.control == nullptr || slot.control->end_call();
  return slot.links->judges() ? slot.links->end_call() : unbroken;
}

// A call begins on a communicator that has met an error. Calls that were native
// before remain native, because other ranks may already be in MPI's call.
Outcome run_on_broken(Slot& slot, const Shape& shape) {
  slot.owner.broken = true;
  slot.links->report_error(Code::broken);
  if (slot.pending) return {failed(Code::broken, "this communicator has met an error"), &native_plan()};
  Plan* known = slot.plans.find(shape);
  const bool nothing_carried = slot.control == nullptr && !slot.links->judges();
  if (nothing_carried || (known != nullptr && known->native())) return {{}, &native_plan()};
  const Status judged = judge(slot);
  const bool native = judged.code == Code::given_back || judged.code == Code::revoked;  // MPI reports this error itself.
  return {native ? Status{} : judged, &native_plan()};
}

// A call was under way on a communicator that has met an error. Either it fails, or MPI does it again.
Outcome end_broken(Slot& slot, const Status& met, bool can_be_done_again) {
  slot.error = met.what;  // The text belongs to this thread, but another thread may use it later.
  const Code code = met.code == Code::given_back ? Code::broken : met.code;
  break_up(slot, code);
  const bool given_back = can_be_done_again && !slot.pending && judge(slot).code == Code::given_back;
  if (given_back && met.code == Code::mismatch) log_line(LogLevel::error, "%s: others are in the MPI library with it, which is to say what is wrong", slot.error.c_str());
  return {given_back ? Status{} : Status{code, slot.error.c_str()}, &native_plan()};
}

// In a v-collective or a rooted one by messages, a rank waits only for those that send to it. All ranks meet now and then, so that messages to a late
// rank do not pile up in its MPI library's memory.
Status limit_run_ahead(Slot& slot, const Shape& shape) {
  constexpr std::uint64_t kMostAhead = 256;
  const bool waits_for_all = row_of(shape.collective).counts != Counts::vector && !is_rooted(shape.collective);
  if (waits_for_all || !slot.links->messages_open()) return {};
  if (++slot.unbounded_calls % kMostAhead != 0) return {};
  std::uint32_t unused = 0;
  return agree_on_largest(slot, 0, unused);
}

}  // namespace

Outcome run_collective(Slot& slot, const Shape& shape, UserBuffers& user) {
  const bool in_place = shape.in_place || user.in_place();
  Plan* known = slot.plans.find(shape);
  begin_call(slot, known != nullptr ? known->hash : shape.hash(), shape.block_bytes, in_place);
  if (slot.owner.broken || (slot.control != nullptr && slot.control->broken_up())) return run_on_broken(slot, shape);
  Plan* plan = nullptr;
  Status status;
  if (may_be_on_devices(slot, shape) && slot.devices->attends_call()) {
    status = run_on_devices(slot, shape, user, plan);
    if (slot.devices->active()) known = slot.plans.find(shape);  // A plan for devices may have taken its place.
  }
  if (status.ok() && plan == nullptr) {
    plan = known;
    status = run_on_host(slot, shape, user, plan);
  }
  if (status.ok() && !plan->native()) status = limit_run_ahead(slot, shape);
  if (!status.ok()) return end_broken(slot, status, !in_place);
  if (plan->native()) {
    if (slot.control != nullptr) slot.control->go_native();
    return {status, plan};
  }
  if (end_call(slot)) return {status, plan};
  // All data have arrived, but other ranks in this call may have gone to MPI.
  const bool given_back = !in_place && !slot.pending && judge(slot).code == Code::given_back;
  if (given_back) slot.owner.broken = true;
  return {status, given_back ? &native_plan() : plan};
}

Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers) {
  PlainBuffers plain(buffers, shape.block_bytes * static_cast<std::size_t>(communicator.topology.size));
  return run_collective(communicator.slot(), shape, plain);
}

Status begin_own_call(Slot& slot, std::uint64_t hash, std::uint64_t bytes) {
  begin_call(slot, hash, bytes, true);
  const bool broken = slot.owner.broken || (slot.control != nullptr && slot.control->broken_up());
  return broken ? failed(Code::broken, "this communicator has met an error") : Status{};
}

Status end_own_call(Slot& slot, const Status& status) {
  const bool harmless = status.ok() || status.code == Code::unsupported || status.code == Code::no_memory || status.code == Code::invalid;
  if (harmless) {
    (void)end_call(slot);
    return status;
  }
  slot.error = status.what;  // The text belongs to this thread, and end_work may overwrite it.
  break_up(slot, status.code);
  return {status.code, slot.error.c_str()};
}

Status open_stream_order(Communicator& communicator, const DeviceSide& near, WantsMessages messages) {
  Slot& slot = communicator.slot();
  begin_call(slot, 0, 0);
  return end_own_call(slot, open_stream_order(slot, near, messages));
}

bool takes_messages(Communicator& communicator) { return communicator.slot().devices->streams().takes_messages(); }

Status messages_on_stream(Communicator& communicator, const Messages& messages, void* stream) {
  return messages_on_stream(communicator.slot(), messages, stream);
}

bool meets_nobody(Communicator& communicator, Shape shape) {
  shape.memory = Memory::device;
  shape.order = Order::stream;
  return !shape.in_place && meets_nobody(communicator.slot(), shape);
}

Status run_on_stream(Communicator& communicator, Shape shape, UserBuffers& user, void* stream) {
  shape.memory = Memory::device;
  shape.order = Order::stream;
  Slot& slot = communicator.slot();
  CROSSRAIL_TRY(check_own_sides(slot, shape, user));
  begin_call(slot, shape.hash(), shape.block_bytes);
  return end_own_call(slot, enqueue_on_devices(slot, shape, user, stream));
}

namespace {

// The plan also decides whether its calls may be on device memory.
Status plan_for_good(Slot& slot, const Shape& shape, const PersistentCall& call, Plan*& plan) {
  if (slot.devices != nullptr) {
    CROSSRAIL_TRY(slot.devices->look_for_modules());
    if (!slot.devices->active()) slot.devices.reset();
  }
  if (slot.owner.native_only) return plan_for(slot, shape, plan);
  Seen seen;
  CROSSRAIL_TRY(first_on_devices(slot, shape, call.user, seen.devices_of_nodes));
  std::uint32_t some = call.not_for_mpi ? 1 : 0;
  CROSSRAIL_TRY(agree_on_largest(slot, some, some));
  seen.never_native = some != 0;
  return plan_for(slot, shape, plan, seen);
}

}  // namespace

Status plan_ahead(Slot& slot, const Shape& shape, const PersistentCall& call, bool& native) {
  begin_call(slot, shape.hash(), shape.block_bytes);
  native = true;
  if (slot.owner.broken) return {};
  Plan* plan = nullptr;
  const Status planned = plan_for_good(slot, shape, call, plan);
  if (!planned.ok()) break_up(slot, planned.code);
  native = !planned.ok() || plan->native();
  return planned;
}

void withdraw(Slot& slot, const Shape& shape, Code code) {
  begin_call(slot, ~shape.hash(), shape.block_bytes);
  break_up(slot, code);
}

}  // namespace crossrail
