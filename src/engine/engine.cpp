#include "engine/engine.h"

#include <array>
#include <iterator>

#include "base/log.h"
#include "collectives/algorithm.h"
#include "collectives/device_rounds.h"
#include "engine/compared.h"
#include "engine/devices_of_nodes.h"

namespace crossrail {
namespace {

Plan& native_plan() {
  static Plan& native = *new Plan;
  return native;
}

bool has_device_rows(Collective collective) {
  static const auto known = [] {
    std::array<bool, std::size(kCollectives)> has{};
    for (const Collective one : kCollectives) has[static_cast<std::size_t>(one)] = !catalogue(one, Memory::device).empty();
    return has;
  }();
  return known[static_cast<std::size_t>(collective)];
}

// Every call, native ones too, says at once what it is: others may have to ask.
void begin_call(Slot& slot, std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place = false) {
  if (slot.control != nullptr) slot.control->begin_call(shape_hash, block_bytes, in_place);
  slot.links->begin_call(shape_hash, block_bytes, in_place);
}

// Of a call that will not go on: nothing more arrives in its buffers.
void end_work(Slot& slot) {
  slot.links->cancel_posted();
  if (slot.devices != nullptr) slot.devices->queue().abandon();
}

// The call on `slot` has failed, and nobody can trust the state that ranks share any more.
void break_up(Slot& slot, Code code) {
  slot.owner.break_up(code, slot);
  slot.links->report_error(code);
  end_work(slot);
}

Status run_on_host(Slot& slot, const Shape& shape, UserBuffers& user, Plan*& plan) {
  bool on_devices = false;
  CROSSRAIL_TRY(ask_for_drivers(slot));
  if (slot.owner.devices && !slot.pending) CROSSRAIL_TRY(first_on_devices(slot, shape, user, on_devices));
  CROSSRAIL_TRY(plan_for(slot, shape, plan, {on_devices, false}));
  if (plan->native()) return {};
  bool given_back = false;
  CROSSRAIL_TRY(is_given_back(slot, shape, given_back));
  if (given_back) {
    plan = &native_plan();
    return {};
  }
  bool done = false;
  CROSSRAIL_TRY(run_on_devices_of_node(slot, user, *plan, done));
  if (done) return {};
  Buffers buffers;
  CROSSRAIL_TRY(user.open(buffers, plan));
  CROSSRAIL_TRY(run_plan(*plan, buffers, plan->run));
  return user.close();
}

// The plan for a call on device memory, whose descriptors have then been exchanged. Null where there is none: some
// rank has a side elsewhere, or no algorithm fits.
Status plan_on_devices(Slot& slot, const Shape& shape, const DeviceCall& call, Plan*& plan) {
  DeviceSharing& devices = *slot.devices;
  Plan* known = slot.plans.find(shape);
  bool on_devices = false;
  CROSSRAIL_TRY(devices.exchange_descriptors(call, known == nullptr ? MappedSide::none : known->mapped, on_devices));
  if (!on_devices) return {};
  if (known == nullptr) {
    if (slot.pending && !has_row(slot, shape)) return {};
    CROSSRAIL_TRY(plan_for(slot, shape, known));
    if (known->mapped != MappedSide::none) CROSSRAIL_TRY(devices.exchange_descriptors(call, known->mapped, on_devices));
  }
  if (on_devices || known->native()) plan = known;
  return {};
}

// In place, what peers have not read yet would be written over.
bool writes_over_itself(const Shape& shape, const UserBuffers& user) {
  const CollectiveRow& row = row_of(shape.collective);
  const bool scatters_results = row.reduces && row.counts != Counts::elements;
  return shape.in_place || (scatters_results && user.in_place());
}

// Leaves `plan` null where the call must go through host memory: some rank has a side there, no
// algorithm fits, or (seen by all ranks alike) some rank cannot map the memory of another.
Status run_on_devices(Slot& slot, Shape shape, UserBuffers& user, Plan*& plan) {
  CROSSRAIL_TRY(slot.devices->look_for_modules());
  if (!slot.devices->active()) return {};
  shape.memory = Memory::device;
  DeviceCall call = user.on_devices();
  if (call.block_bytes == 0) call.block_bytes = device_block_bytes(shape, slot.owner.topology.size);
  call.send.ours = call.send.ours || writes_over_itself(shape, user);
  Plan* known = nullptr;
  CROSSRAIL_TRY(plan_on_devices(slot, shape, call, known));
  if (known == nullptr) return {};
  if (known->native() && !known->fallback) plan = known;  // a row of the table says so
  if (known->native()) return {};
  const Status status = run_plan(*known, user.device_buffers(), known->run);
  slot.devices->end_call();
  if (status.code == Code::unsupported) {
    log_line(LogLevel::plan, "this call goes through host memory: %s", status.what);
    return {};
  }
  plan = known;
  return status;
}

// What becomes of the slot's call after an error, the same on all ranks; Code::given_back: the MPI library carries it.
Status judge(Slot& slot) {
  if (slot.links->judges()) return slot.links->judge();
  return slot.control == nullptr ? failed(Code::broken, "this communicator has met an error") : slot.control->judge();
}

// This rank has all that it was to receive. False if the call may have been given back meanwhile.
bool end_call(Slot& slot) {
  const bool unbroken = slot.control == nullptr || slot.control->end_call();
  return slot.links->judges() ? slot.links->end_call() : unbroken;
}

// A call that begins on a communicator that has met an error. What was native before still is: other ranks may be
// in it.
Outcome run_on_broken(Slot& slot, const Shape& shape) {
  slot.owner.broken = true;
  slot.links->report_error(Code::broken);
  if (slot.pending) return {failed(Code::broken, "this communicator has met an error"), &native_plan()};
  const Plan* const known = slot.plans.find(shape);
  const bool nothing_carried = slot.control == nullptr && !slot.links->judges();
  if (nothing_carried || (known != nullptr && known->native())) return {{}, &native_plan()};
  const Status judged = judge(slot);
  const bool native = judged.code == Code::given_back || judged.code == Code::revoked;  // the MPI library says so itself
  return {native ? Status{} : judged, &native_plan()};
}

// A call that was under way on a communicator that has met an error: it fails, or the MPI library does it again.
Outcome end_broken(Slot& slot, const Status& met, bool can_be_done_again) {
  slot.error = met.what;  // a text of this thread's, which may not be the one that goes on
  const Code code = met.code == Code::given_back ? Code::broken : met.code;
  break_up(slot, code);
  const bool given_back = can_be_done_again && !slot.pending && judge(slot).code == Code::given_back;
  if (given_back && met.code == Code::mismatch) log_line(LogLevel::error, "%s: others are in the MPI library with it, which is to say what is wrong", slot.error.c_str());
  return {given_back ? Status{} : Status{code, slot.error.c_str()}, &native_plan()};
}

}  // namespace

Outcome run_collective(Slot& slot, const Shape& shape, UserBuffers& user) {
  const bool in_place = shape.in_place || user.in_place();
  begin_call(slot, shape.hash(), shape.block_bytes, in_place);
  if (slot.owner.broken || (slot.control != nullptr && slot.control->broken_up())) return run_on_broken(slot, shape);
  Plan* plan = nullptr;
  Status status;
  const bool nothing = row_of(shape.collective).counts != Counts::vector && shape.block_bytes == 0;
  const bool maybe_on_devices = slot.devices != nullptr && slot.owner.topology.one_node() && !nothing && has_device_rows(shape.collective);
  if (maybe_on_devices) status = run_on_devices(slot, shape, user, plan);
  if (status.ok() && plan == nullptr) status = run_on_host(slot, shape, user, plan);
  if (!status.ok()) return end_broken(slot, status, !in_place);
  if (plan->native()) {
    if (slot.control != nullptr) slot.control->go_native();
    return {status, plan};
  }
  if (end_call(slot)) return {status, plan};
  // All has come, but others in this call may have gone to the MPI library.
  const bool given_back = !in_place && !slot.pending && judge(slot).code == Code::given_back;
  if (given_back) slot.owner.broken = true;
  return {status, given_back ? &native_plan() : plan};
}

Outcome run_collective(Communicator& communicator, const Shape& shape, UserBuffers& user) {
  return run_collective(communicator.slot(), shape, user);
}

Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers) {
  PlainBuffers plain(buffers, shape.block_bytes * static_cast<std::size_t>(communicator.topology.size));
  return run_collective(communicator.slot(), shape, plain);
}

namespace {

// What would have to be staged is nowhere, as the others see it: staging takes its turn, and streams do not.
DeviceCall call_without_staging(const Shape& shape, UserBuffers& user, int ranks) {
  DeviceCall call = user.on_devices();
  call.block_bytes = device_block_bytes(shape, ranks);
  call.stays = true;
  const auto as_it_lies = [](const DeviceSide& side) { return !side.ours && !side.gaps; };
  if (!as_it_lies(call.send) || !as_it_lies(call.recv) || writes_over_itself(shape, user)) call.send = call.recv = {};
  return call;
}

Status enqueue(Slot& slot, const Shape& shape, UserBuffers& user, void* stream) {
  if (slot.owner.broken) return failed(Code::broken, "this communicator has met an error");
  if (slot.owner.topology.size == 1 && slot.control == nullptr) CROSSRAIL_TRY(slot.owner.place_alone());
  if (slot.devices == nullptr || !slot.owner.topology.one_node()) return failed(Code::unsupported, "the ranks are not on one node, or share no memory there");
  CROSSRAIL_TRY(slot.devices->look_for_modules(DeviceSharing::When::now));
  if (!slot.devices->active()) return failed(Code::unsupported, "some rank has no device module, or memory that no other can map");
  if (shape.in_place) return failed(Code::unsupported, "not in place");
  Plan* plan = nullptr;
  DeviceCall call = call_without_staging(shape, user, slot.owner.topology.size);
  // All are to hear, and are here now: this call is refused for what was wrong with the one before.
  const std::string wrong_before = slot.devices->queue().wrong_so_far();
  if (!wrong_before.empty()) call.send = call.recv = {};
  CROSSRAIL_TRY(plan_on_devices(slot, shape, call, plan));
  if (!wrong_before.empty()) return failure(Code::unsupported, "%s", wrong_before.c_str());
  if (plan == nullptr) {
    return failed(Code::unsupported, "some rank's buffers are not in device memory that the others can map, or have gaps, or are one where results would be "
                                     "written over what others read, or its counts of an earlier call were wrong");
  }
  Buffers buffers = user.device_buffers();
  buffers.stream = stream == nullptr ? CROSSRAIL_DEFAULT_STREAM : stream;
  return run_plan(*plan, buffers, plan->run);
}

}  // namespace

Status run_on_stream(Communicator& communicator, Shape shape, UserBuffers& user, void* stream) {
  shape.memory = Memory::device;
  shape.order = Order::stream;
  Slot& slot = communicator.slot();
  begin_call(slot, shape.hash(), shape.block_bytes);
  const bool nothing = row_of(shape.collective).counts != Counts::vector && shape.block_bytes == 0;
  const Status status = nothing ? Status{} : enqueue(slot, shape, user, stream);
  const bool harmless = status.ok() || status.code == Code::unsupported || status.code == Code::no_memory;
  if (!harmless) break_up(slot, status.code);
  if (status.ok() && slot.control != nullptr) (void)slot.control->end_call();
  return status;
}

namespace {

// Whether its calls may be on device memory is decided with the plan.
Status plan_for_good(Slot& slot, const Shape& shape, const PersistentCall& call, Plan*& plan) {
  if (slot.devices != nullptr) {
    CROSSRAIL_TRY(slot.devices->look_for_modules(DeviceSharing::When::now));
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
