#include "nccl/groups.h"

#include <utility>
#include <vector>

#include "nccl/real.h"

namespace crossrail::nccl {
namespace {

struct Group {
  int depth = 0;
  std::vector<Call> calls;
  std::vector<Making> making;
};
Group& group() {
  static thread_local Group of_this_thread;
  return of_this_thread;
}

bool has_begun(Result result) { return result == Result::success || result == Result::in_progress; }

void take_over(Making& making) {
  if (*making.comm != nullptr) add({*making.comm, making.key, making.rank, making.size}, std::move(making.gathering));
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
  std::vector<Making> making = std::exchange(mine.making, {});
  const Result made = make_all(calls);
  mine.depth = 0;
  const Result ended = end();
  for (Making& one : making) {
    if (has_begun(ended)) take_over(one);
  }
  return made == Result::success ? ended : made;
}

Result make_or_keep(const Call& call) {
  if (group().depth == 0) return make(call);
  group().calls.push_back(call);
  return Result::success;
}

Result made_or_keep(Making making, Result result) {
  if (!has_begun(result)) return result;
  if (group().depth > 0) group().making.push_back(std::move(making));
  else take_over(making);
  return result;
}

}  // namespace crossrail::nccl
