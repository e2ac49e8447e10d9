#include "engine/compared.h"

#include "base/log.h"
#include "engine/engine.h"
#include "selection/parameters.h"

namespace crossrail {
namespace {

// The times of a call are judged in the next call, where all ranks wait for each other patiently.
Status judge_times(Slot& slot, const Shape& shape, std::span<SpeedGuard::Nanoseconds> values) {
  for (SpeedGuard::Nanoseconds& value : values) CROSSRAIL_TRY(agree_on_largest(slot, value, value));
  const SpeedGuard::Verdict verdict = slot.owner.guard.judge(shape);
  if (verdict == SpeedGuard::Verdict::as_before || slot.owner.topology.rank != 0) return {};
  log_line(LogLevel::plan, "%s of %llu bytes and the like: %s", name_of(shape.collective), static_cast<unsigned long long>(shape.block_bytes),
           verdict == SpeedGuard::Verdict::given_back ? "native was faster on this communicator and handles these calls now" : "crossrail handles them again because native was slower");
  return {};
}

}  // namespace

Status compare(Slot& slot, const Shape& shape, bool& given_back) {
  SpeedGuard& guard = slot.owner.guard;
  given_back = false;
  if (slot.owner.topology.rank_order && row_of(shape.collective).reduces) return {};
  if (!may_be_given_back(slot) || !wanted_algorithm(slot.owner.settings, shape.collective).empty()) return {};
  if (const auto values = guard.to_agree(shape); !values.empty()) CROSSRAIL_TRY(judge_times(slot, shape, values));
  given_back = guard.native(shape);
  return {};
}

}  // namespace crossrail
