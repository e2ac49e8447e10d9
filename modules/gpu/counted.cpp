// Blocks whose lengths the device finds in arrays: two kernels, the ranks' meeting and the exchange.

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

struct Kernels {
  Kernel meeting, exchange;
};

template <unsigned kMost>
const char* launch_both(crossrail_queue& queue, const crossrail_counted_exchange& asked, const Kernels& kernels) {
  const crossrail_barrier& barrier = asked.barrier;
  kernels::CountedMeeting<kMost> meeting{};
  if (const char* wrong = tell_barrier(queue, barrier, meeting.barrier); wrong != nullptr) return wrong;
  if (const char* wrong = translate(queue, asked.wrong, &meeting.wrong); wrong != nullptr) return wrong;
  kernels::CountedTask<kMost> task{};
  task.barrier = meeting.barrier;
  task.wrong = meeting.wrong;
  tell_side(asked.recv, barrier.ranks, meeting.recv);
  tell_side(asked.send, barrier.ranks, task.send);
  for (int i = 0; i < barrier.ranks; ++i) task.to[i] = static_cast<char*>(asked.to[i]);
  const Work met{kernels.meeting, 1, barrier_threads(barrier), &meeting, sizeof meeting, nullptr, false};
  if (const char* wrong = launch_work(queue, met, barrier.stream); wrong != nullptr) return wrong;
  const int all = queue.place->multiprocessors;
  const auto grid = static_cast<unsigned>(asked.multiprocessors > 0 ? std::min(asked.multiprocessors, 2 * all) : all);
  return launch_work(queue, {kernels.exchange, grid, kernels::kCountedThreads, &task, sizeof task, nullptr, false}, barrier.stream);
}

}  // namespace

const char* exchange_counted(crossrail_queue* queue, const crossrail_counted_exchange* exchange) {
  if (const char* wrong = check(exchange->barrier); wrong != nullptr) return wrong;
  if (exchange->wrong == nullptr) return "no word for what is wrong with the blocks";
  const At at(*queue->place);
  GPU_TRY(at.result());
  if (exchange->barrier.ranks <= static_cast<int>(kernels::kFewRanks)) {
    return launch_both<kernels::kFewRanks>(*queue, *exchange, {Kernel::meet_few, Kernel::counted_few});
  }
  return launch_both<kernels::kManyRanks>(*queue, *exchange, {Kernel::meet_many, Kernel::counted_many});
}

}  // namespace gpu
