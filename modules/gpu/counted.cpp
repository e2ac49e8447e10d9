// The device finds the lengths of these blocks in arrays. There are the ranks' meeting, the exchange, and another meeting.

#include <algorithm>

#include "memory.h"
#include "queue.h"

namespace gpu {
namespace {

static_assert(kernels::kWrongCut == CROSSRAIL_COUNTED_CUT && kernels::kWrongSend == CROSSRAIL_COUNTED_SEND &&
              kernels::kWrongReceive == CROSSRAIL_COUNTED_RECEIVE);

// Returns where the device reads an array itself. If it is null, its values are `own` from now on.
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
  return static_cast<unsigned>(asked.work.multiprocessors > 0 ? std::min(asked.work.multiprocessors, 2 * all) : all);
}

const char* launch_apart(crossrail_queue& queue, const crossrail_counted_exchange& asked) {
  const crossrail_barrier& barrier = asked.barrier;
  kernels::CountedMeeting<kernels::kManyRanks> meeting{};
  kernels::CountedTask<kernels::kManyRanks> task{};
  if (const char* wrong = tell(queue, asked, meeting, task); wrong != nullptr) return wrong;
  const Work met{Kernel::meet_many, 1, barrier_threads(barrier), &meeting, sizeof meeting, nullptr, false};
  if (const char* wrong = launch_work(queue, met, asked.work.stream); wrong != nullptr) return wrong;
  const Work moved{Kernel::counted_many, most_grid(queue, asked), kernels::kCountedThreads, &task, sizeof task, nullptr, false};
  if (const char* wrong = launch_work(queue, moved, asked.work.stream); wrong != nullptr) return wrong;
  return meet_alone(queue, &barrier, asked.work.stream);
}

constexpr uint64_t kBytesOfACta = uint64_t{1} << 14;   // Several CTAs share more.
constexpr uint64_t kBetweenCountedBytes = uint64_t{8} << 20;   // More bytes need more CTAs than may wait for other ranks.
constexpr uint64_t kAverageBytes = kBytesOfACta * kernels::kMostMeetingCtas;  // It is used if the host does not know how many bytes are sent.

uint64_t bytes_sent(const crossrail_counted_exchange& asked) {
  if (classify(asked.send.counts) != CROSSRAIL_MEMORY_HOST) return kAverageBytes;
  uint64_t bytes = 0;
  for (int i = 0; i < asked.barrier.ranks; ++i) {
    bytes += static_cast<uint64_t>(std::max(asked.send.counts[i], 0)) * static_cast<uint64_t>(asked.send.element_bytes);
  }
  return bytes;
}

const char* launch_between(crossrail_queue& queue, const crossrail_counted_exchange& asked, uint64_t bytes) {
  kernels::CountedBetween task{};
  if (const char* wrong = tell(queue, asked, task.meeting, task.exchange); wrong != nullptr) return wrong;
  const uint64_t most = std::min(most_grid(queue, asked), kernels::kMostMeetingCtas);
  const auto grid = static_cast<unsigned>(std::min(bytes / kBytesOfACta + 1, most));
  return launch_work(queue, {Kernel::counted_between, grid, kernels::kCountedThreads, &task, sizeof task, nullptr, false}, asked.work.stream);
}

}  // namespace

const char* exchange_counted(crossrail_queue& queue, const crossrail_counted_exchange& asked) {
  if (const char* wrong = check(asked.barrier); wrong != nullptr) return wrong;
  if (asked.wrong == nullptr) return "no word for what is wrong with the blocks";
  const At at(*queue.place);
  GPU_TRY(at.result());
  const uint64_t bytes = bytes_sent(asked);
  // Each rank may choose for itself, because the meetings are the same.
  const bool between = asked.barrier.ranks <= static_cast<int>(kernels::kFewRanks) && bytes <= kBetweenCountedBytes;
  return between ? launch_between(queue, asked, bytes) : launch_apart(queue, asked);
}

}  // namespace gpu
