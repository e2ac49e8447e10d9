#include "nccl/groups.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "nccl/opening.h"
#include "nccl/real.h"
#include "nccl/results.h"

namespace crossrail::nccl {
namespace {

struct Group {
  int depth = 0;
  std::vector<Call> calls;
  std::vector<Message> messages;
  std::vector<Making> making;
};
Group& group() {
  static thread_local Group of_this_thread;
  return of_this_thread;
}

bool has_begun(Result result) { return result == Result::success || result == Result::in_progress; }

// All ranks open the communicators of a group in the same order, so that they do not wait for each other.
void take_over(std::vector<Making>& making, Result result) {
  if (!has_begun(result)) return;
  std::sort(making.begin(), making.end(), [](const Making& one, const Making& other) { return one.record->key < other.record->key; });
  for (Making& one : making) {
    if (*one.comm == nullptr) continue;
    Record& record = add(*one.comm, std::move(one.record));
    const std::lock_guard lock(record.mutex);
    if (result == Result::success) open(record);
  }
}

}  // namespace

Result group_start() {
  const Result result = real().ncclGroupStart();
  if (result == Result::success) ++group().depth;
  return result;
}

Result group_end(const std::function<Result()>& end) {
  Group& mine = group();
  if (mine.depth != 1) {
    if (mine.depth > 0) --mine.depth;
    return end();
  }
  std::vector<Call> calls = std::exchange(mine.calls, {});
  const std::vector<Message> messages = std::exchange(mine.messages, {});
  std::vector<Making> making = std::exchange(mine.making, {});
  const Result made = worse(make_all(calls), make_messages(messages));
  mine.depth = 0;
  const Result ended = end();
  take_over(making, ended);
  return made == Result::success ? ended : made;
}

Result group_simulate_end(void* facts) {
  Group& mine = group();
  if (mine.depth == 1) {
    for (const Call& call : std::exchange(mine.calls, {})) (void)leave(call, Why::simulated);
    for (const Message& message : std::exchange(mine.messages, {})) (void)leave(message, Why::simulated);
    mine.making.clear();
  }
  if (mine.depth > 0) --mine.depth;
  return real().ncclGroupSimulateEnd(facts);
}

Result make_or_keep(const Call& call) {
  if (group().depth == 0) return make(call);
  group().calls.push_back(call);
  return Result::success;
}

Result make_or_keep(const Message& message) {
  if (group().depth == 0) return make_messages({&message, 1});
  group().messages.push_back(message);
  return Result::success;
}

Result made_or_keep(Making making, Result result) {
  std::vector<Making> alone;
  const bool kept = group().depth > 0 && has_begun(result);
  (kept ? group().making : alone).push_back(std::move(making));
  take_over(alone, result);
  return result;
}

}  // namespace crossrail::nccl
