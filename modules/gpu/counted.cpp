// Blocks whose lengths the device finds in arrays: the ranks' meeting, the exchange, and another meeting.

#include <algorithm>

#include "memory.h"
#include "queue.h"

namespace gpu {
namespace {

static_assert(kernels::kWrongCut == CROSSRAIL_COUNTED_CUT && kernels::kWrongSend == CROSSRAIL_COUNTED_SEND &&
              kernels::kWrongReceive == CROSSRAIL_COUNTED_RECEIVE);

// Where the device reads an array itself; null: its values are `own` from now on.
const int32_t* array_of(const int32_t* array, int ranks, int32_t* own) {
  if (classify(array) != CROSSRAIL_MEMORY_HOST) return array;
  std::copy_n(array, ranks, own);
  return nullptr;
}

template <unsigned kMost>
void tell_side(const crossrail_counted_side& side, int ranks, kernels::CountedSide<kMost>& told) {
  told.base = static_cast<char*>(side.base);
  told.counts = array_of(side.counts, ranks, told.own_counts);
  told.displacements = array_of(side.displacements, ranks, told.own_displacements);
  told.element_bytes = side.element_bytes;
  told.lowest = side.lowest;
  told.highest = side.highest;
}

template <unsigned kMost>
const char* tell(const crossrail_queue& queue, const crossrail_counted_exchange& asked, kernels::CountedMeeting<kMost>& meeting,
                 kernels::CountedTask<kMost>& task) {
  const int ranks = asked.barrier.ranks;
  if (const char* wrong = tell_barrier(queue, asked.barrier, meeting.barrier); wrong != nullptr) return wrong;
  if (const char* wrong = translate(queue, asked.wrong, &meeting.wrong); wrong != nullptr) return wrong;
  task.barrier = meeting.barrier;
  task.wrong = meeting.wrong;
  tell_side(asked.recv, ranks, meeting.recv);
  tell_side(asked.send, ranks, task.send);
  for (int i = 0; i < ranks; ++i) task.to[i] = static_cast<char*>(asked.to[i]);
  return nullptr;
}

unsigned most_grid(const crossrail_queue& queue, const crossrail_counted_exchange& asked) {
  const int all = queue.place->multiprocessors;
  return static_cast<unsigned>(asked.multiprocessors > 0 ? std::min(asked.multiprocessors, 2 * all) : all);
}

const char* launch_apart(crossrail_queue& queue, const crossrail_counted_exchange& asked) {
  const crossrail_barrier& barrier = asked.barrier;
  kernels::CountedMeeting<kernels::kManyRanks> meeting{};
  kernels::CountedTask<kernels::kManyRanks> task{};
  if (const char* wrong = tell(queue, asked, meeting, task); wrong != nullptr) return wrong;
  const Work met{Kernel::meet_many, 1, barrier_threads(barrier), &meeting, sizeof meeting, nullptr, false};
  if (const char* wrong = launch_work(queue, met, barrier.stream); wrong != nullptr) return wrong;
  const Work moved{Kernel::counted_many, most_grid(queue, asked), kernels::kCountedThreads, &task, sizeof task, nullptr, false};
  if (const char* wrong = launch_work(queue, moved, barrier.stream); wrong != nullptr) return wrong;
  return meet_alone(queue, &barrier, barrier.stream);
}

constexpr uint64_t kBytesOfACta = uint64_t{1} << 14;  // that are known beforehand: more are shared by several

// CTAs for what is sent, as far as the host knows that.
template <unsigned kMost>
uint64_t ctas_for(const kernels::CountedSide<kMost>& side, int ranks) {
  if (side.counts != nullptr) return kernels::kMostMeetingCtas;
  uint64_t bytes = 0;
  for (int i = 0; i < ranks; ++i) bytes += static_cast<uint64_t>(std::max(side.own_counts[i], 0)) * static_cast<uint64_t>(side.element_bytes);
  return bytes / kBytesOfACta + 1;
}

const char* launch_between(crossrail_queue& queue, const crossrail_counted_exchange& asked) {
  kernels::CountedBetween task{};
  if (const char* wrong = tell(queue, asked, task.meeting, task.exchange); wrong != nullptr) return wrong;
  const uint64_t most = std::min(most_grid(queue, asked), kernels::kMostMeetingCtas);
  const auto grid = static_cast<unsigned>(std::min(ctas_for(task.exchange.send, asked.barrier.ranks), most));
  return launch_work(queue, {Kernel::counted_between, grid, kernels::kCountedThreads, &task, sizeof task, nullptr, false}, asked.barrier.stream);
}

}  // namespace

const char* exchange_counted(crossrail_queue* queue, const crossrail_counted_exchange* exchange) {
  if (const char* wrong = check(exchange->barrier); wrong != nullptr) return wrong;
  if (exchange->wrong == nullptr) return "no word for what is wrong with the blocks";
  const At at(*queue->place);
  GPU_TRY(at.result());
  const bool few = exchange->barrier.ranks <= static_cast<int>(kernels::kFewRanks);
  return few ? launch_between(*queue, *exchange) : launch_apart(*queue, *exchange);
}

}  // namespace gpu
