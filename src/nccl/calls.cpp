#include "nccl/calls.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "comm/user_buffers.h"
#include "engine/engine.h"
#include "nccl/opening.h"
#include "nccl/real.h"
#include "nccl/results.h"

namespace crossrail::nccl {
namespace {

constexpr Element kElements[] = {Element::int8,    Element::uint8,   Element::int32,    Element::uint32,      Element::int64,      Element::uint64,
                                 Element::float16, Element::float32, Element::float64,  Element::bfloat16,    Element::float8_e4m3, Element::float8_e5m2};
using OfElements = crossrail::Operation;
constexpr OfElements kOperations[] = {OfElements::sum, OfElements::product, OfElements::maximum, OfElements::minimum, OfElements::average};

// NCCL lets kernels touch what the program passes, so it is not looked at.
class ReachableBuffers final : public UserBuffers {
 public:
  explicit ReachableBuffers(const Buffers& buffers) : buffers_(buffers) {}
  Status open(Buffers&, const Plan*) override { return failed(Code::unsupported, "this memory is for devices"); }
  Status close() override { return {}; }
  DeviceCall on_devices() override {
    DeviceCall call;
    call.reachable = true;
    return call;
  }
  Buffers device_buffers() override { return buffers_; }

 private:
  Buffers buffers_;
};

bool reduces(Collective collective) { return collective == Collective::allreduce || collective == Collective::reduce_scatter_block; }

// Returns false if crossrail never handles such a call. The answer is the same on all ranks.
bool shape_of(const Call& call, Shape& shape) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  const auto type = static_cast<std::size_t>(call.type), operation = static_cast<std::size_t>(call.operation);
  if (type >= std::size(kElements) || call.count == 0 || call.count > kMost) return false;
  shape = {};
  shape.collective = call.collective;
  shape.memory = Memory::device;
  shape.order = Order::stream;
  shape.block_bytes = call.count * bytes_of(kElements[type]);
  if (!reduces(call.collective)) return true;
  if (operation >= std::size(kOperations)) return false;
  shape.reduction = {kOperations[operation], kElements[type]};
  return shape.reduction.operation == OfElements::average ? has_average(shape.reduction.element) : is_defined(shape.reduction);
}

// In place, an allgather's own block is said to be where what is received begins.
Buffers buffers_of(const Call& call, const Record& record, std::size_t block_bytes) {
  const auto* send = static_cast<const std::byte*>(call.send);
  auto* const recv = static_cast<std::byte*>(call.recv);
  const std::size_t own = block_bytes * static_cast<std::size_t>(record.rank);
  if (call.collective == Collective::allgather && send == recv + own) send = recv;
  return {send, recv};
}

// Returns why crossrail leaves the call, or nothing if it handles it, which is the same on all ranks: NCCL, too, wants a call to be captured on all of
// them or on none. A communicator is not opened in a captured call. The record's mutex is held.
std::optional<Why> why_left(Record& record, const Call& call, const Place& place, Shape& shape) {
  const bool in_place = call.collective == Collective::alltoall && call.send == call.recv;
  if (!shape_of(call, shape) || in_place) return Why::kind;
  if (place.kind == Place::Kind::unknown || (place.kind == Place::Kind::captured && !record.open)) return Why::captured;
  ++record.calls;
  if (!record.open && std::has_single_bit(record.calls)) open(record);
  if (!record.open) return Why::unopened;
  return meets_nobody(*record.communicator, shape) ? std::nullopt : std::optional(Why::meets);
}

// The record's mutex is held.
Result run(Record& record, const Call& call, const Place& place, const Shape& shape) {
  if (record.aborted) return Result::invalid_usage;
  ReachableBuffers buffers(buffers_of(call, record, shape.block_bytes));
  if (!record.turns.begin(place)) return Result::unhandled_device_error;
  const Result result = result_of(record, run_on_stream(*record.communicator, shape, buffers, call.stream));
  const bool followed = record.turns.end(place);
  counts().handled.fetch_add(1, std::memory_order_relaxed);
  return worse(result, followed ? Result::success : Result::unhandled_device_error);
}

struct OneCall {
  Record* record;
  const Call* call;
};

// Ranks may name the communicators of a group in different orders, and must not wait for each other.
std::vector<OneCall> in_one_order(std::span<Call> calls) {
  std::vector<OneCall> all;
  for (const Call& call : calls) all.push_back({find(call.comm), &call});
  std::stable_sort(all.begin(), all.end(), [](const OneCall& one, const OneCall& other) { return comes_before(one.record, other.record); });
  return all;
}

}  // namespace

Counts& counts() {
  static Counts& all = *new Counts;
  return all;
}

std::uint64_t Counts::left() const {
  std::uint64_t sum = 0;
  for (const std::atomic<std::uint64_t>& some : left_by) sum += some.load(std::memory_order_relaxed);
  return sum;
}

const char* text_of(Why why) {
  constexpr const char* kTexts[kWhys] = {
      "with a null pointer",
      "on communicators that crossrail has not opened",
      "captured in a graph before their communicator was open, or in streams that the driver does not tell about",
      "without elements, in place, or of a type or an operation that crossrail does not know",
      "for which ranks would have to meet on the host",
      "to or from other ranks on communicators whose first messages were NCCL's",
      "in groups that were only simulated"};
  return kTexts[static_cast<int>(why)];
}

Result leave(const Call& call, Why why) {
  counts().leave(why);
  switch (call.collective) {
    case Collective::allreduce: return real().ncclAllReduce(call.send, call.recv, call.count, call.type, call.operation, call.comm, call.stream);
    case Collective::allgather: return real().ncclAllGather(call.send, call.recv, call.count, call.type, call.comm, call.stream);
    case Collective::reduce_scatter_block: return real().ncclReduceScatter(call.send, call.recv, call.count, call.type, call.operation, call.comm, call.stream);
    default: return real().ncclAlltoAll(call.send, call.recv, call.count, call.type, call.comm, call.stream);
  }
}

Result make(const Call& call) {
  Record* const record = find(call.comm);
  if (call.send == nullptr || call.recv == nullptr) return leave(call, Why::wrong);  // NCCL says so.
  std::optional<Why> why = Why::unopened;
  if (record != nullptr) {
    const std::lock_guard lock(record->mutex);
    const Place place = place_of(call.stream);
    Shape shape;
    why = why_left(*record, call, place, shape);
    if (!why.has_value()) return run(*record, call, place, shape);
  }
  return leave(call, *why);  // NCCL may wait, and another thread may abort the communicator meanwhile.
}

Result make_all(std::span<Call> calls) {
  Result result = Result::success;
  for (const OneCall& one : in_one_order(calls)) result = worse(result, make(*one.call));
  return result;
}

}  // namespace crossrail::nccl
