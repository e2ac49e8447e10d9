// A kernel, copy engines, or the kernel that is there already move the blocks.

#include <algorithm>
#include <cstddef>

#include "base/of_thread.h"
#include "queue.h"
#include "sharing.h"

namespace gpu {
namespace {

static_assert(offsetof(kernels::FewBlocks, blocks) == offsetof(kernels::ManyBlocks, blocks));

// Gathers the next blocks that are not empty, as many as one launch can carry.
uint32_t gather(const crossrail_exchange& exchange, int& next, kernels::Block* blocks) {
  uint32_t count = 0;
  for (; next < exchange.block_count && count < kernels::kManyBlocks; ++next) {
    const crossrail_block& block = exchange.blocks[next];
    if (block.bytes == 0) continue;
    blocks[count++] = {static_cast<char*>(block.to), static_cast<const char*>(block.from), block.bytes, 0};
  }
  return count;
}

unsigned most_grid(const crossrail_queue& queue, const crossrail_exchange& exchange) {
  const int all = queue.place->multiprocessors;
  return static_cast<unsigned>(exchange.work.multiprocessors > 0 ? std::min(exchange.work.multiprocessors, 2 * all) : all);
}

const char* exchange_by_kernel(crossrail_queue& queue, const crossrail_exchange& exchange, uint64_t* flag) {
  int next = 0;
  do {
    kernels::ManyBlocks task{};
    task.list.count = gather(exchange, next, task.blocks);
    const bool last = next == exchange.block_count;
    if (last) {
      task.signal.flag = flag;
      task.signal.value = exchange.work.value;
    }
    if (task.list.count == 0 && task.signal.flag == nullptr) continue;
    const Cut wanted = cut(task.list, task.blocks, most_grid(queue, exchange));
    task.lanes = wanted.lanes;
    const bool few = task.list.count <= kernels::kFewBlocks;  // The task of the few is the beginning of the other's.
    const Work work{few ? Kernel::exchange_few : Kernel::exchange_many, wanted.grid, wanted.threads, &task,
                    few ? sizeof(kernels::FewBlocks) : sizeof task, &task.signal, false};
    if (const char* wrong = launch_work(queue, work, exchange.work.stream); wrong != nullptr) return wrong;
  } while (next < exchange.block_count);
  return nullptr;
}

constexpr uint64_t kBetweenBytes = 1 << 20;  // It counts all blocks. More are worth kernels of their own for the barriers.

// Returns whether all of it, barriers included, is one kernel.
bool fits_between(const crossrail_exchange& exchange, const Meetings& meetings) {
  if (exchange.engine == CROSSRAIL_ENGINE_COPY || !meetings.few_ranks()) return false;
  uint64_t bytes = 0;
  unsigned count = 0;
  for (int i = 0; i < exchange.block_count; ++i) {
    bytes += exchange.blocks[i].bytes;
    count += exchange.blocks[i].bytes > 0 ? 1 : 0;
  }
  return count <= kernels::kFewBlocks && bytes <= kBetweenBytes;
}

const char* exchange_between(crossrail_queue& queue, const crossrail_exchange& exchange, const Meetings& meetings) {
  kernels::ExchangeBetween task{};
  if (const char* wrong = tell_meetings(queue, meetings, task.meeting); wrong != nullptr) return wrong;
  kernels::Block blocks[kernels::kManyBlocks];
  int next = 0;
  task.exchange.list.count = gather(exchange, next, blocks);
  std::copy_n(blocks, task.exchange.list.count, task.exchange.blocks);
  const Cut wanted = cut(task.exchange.list, task.exchange.blocks, std::min(most_grid(queue, exchange), kernels::kMostMeetingCtas));
  task.exchange.lanes = wanted.lanes;
  return launch_work(queue, {Kernel::exchange_between, wanted.grid, wanted.threads, &task, sizeof task, nullptr, false}, exchange.work.stream);
}

const char* exchange_with(crossrail_queue& queue, const crossrail_exchange& exchange) {
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (exchange.engine == CROSSRAIL_ENGINE_COPY) return exchange_by_copies(queue, exchange);
  uint64_t* flag = nullptr;
  if (const char* wrong = translate(queue, exchange.work.flag, &flag); wrong != nullptr) return wrong;
  if (exchange.engine == CROSSRAIL_ENGINE_PERSISTENT && persistent_fits(queue, exchange)) {
    return command(queue, {exchange, flag});
  }
  return exchange_by_kernel(queue, exchange, flag);
}

// For copies, this says which blocks have both ends on this device.
struct Sides {
  std::vector<uint8_t> local;
  int locals = 0, remotes = 0;
};
const Sides& sides_of(const crossrail_queue& queue, const crossrail_exchange& exchange) {
  Sides& sides = crossrail::of_thread<Sides, Sides>();
  sides.local.assign(exchange.block_count, 0);
  sides.locals = sides.remotes = 0;
  const Place& place = *queue.place;
  for (int i = 0; i < exchange.block_count; ++i) {
    const crossrail_block& block = exchange.blocks[i];
    if (block.bytes == 0) continue;
    const bool local = lies_on(block.to, place.identity, place.device) && lies_on(block.from, place.identity, place.device);
    sides.local[i] = local ? 1 : 0;
    ++(local ? sides.locals : sides.remotes);
  }
  return sides;
}

Result copy_side(const crossrail_exchange& exchange, const Sides& sides, bool local, Stream stream) {
  for (int i = 0; i < exchange.block_count; ++i) {
    const crossrail_block& block = exchange.blocks[i];
    if (block.bytes == 0 || (sides.local[i] != 0) != local) continue;
    const Result result = driver().copy(address(block.to), address(block.from), block.bytes, stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

// What the program captures stays tied to its capture until that ends, and what it has enqueued may wait long. So its streams have sides of
// their own, as many as it captures at a time.
const char* side_for(crossrail_queue& queue, bool own, size_t& side) {
  side = 0;
  if (own) return nullptr;
  for (side = 1; side < queue.sides.size(); ++side) {
    if (!is_captured(queue.sides[side].stream)) return nullptr;
  }
  return open_side(queue);
}

// Makes copies within the device beside those to others, which they would hold up.
const char* copy_both_sides(crossrail_queue& queue, const crossrail_exchange& exchange, const Sides& sides, Stream stream) {
  size_t number = 0;
  if (const char* wrong = side_for(queue, exchange.work.stream == nullptr, number); wrong != nullptr) return wrong;
  const SideStream& side = queue.sides[number];
  GPU_TRY(driver().record_event(side.fork, stream));
  GPU_TRY(driver().wait_event(side.stream, side.fork, 0));
  const Result remote = copy_side(exchange, sides, false, stream);
  const Result local = copy_side(exchange, sides, true, side.stream);
  GPU_TRY(driver().record_event(side.join, side.stream));
  GPU_TRY(driver().wait_event(stream, side.join, 0));
  GPU_TRY(remote);
  return text(local);
}

const char* tell_host(crossrail_queue& queue, const crossrail_exchange& exchange, Stream stream) {
  kernels::Signal signal{};
  signal.value = exchange.work.value;
  if (const char* wrong = translate(queue, exchange.work.flag, &signal.flag); wrong != nullptr) return wrong;
  if (signal.flag == nullptr) return nullptr;
  // What the program captures may be replayed where values cannot be written by the stream itself.
  const bool kernels = queue.place->kernels_wrong == nullptr;
  if (kernels && (exchange.work.stream != nullptr || !queue.place->writes_values)) return announce(queue, signal, stream);
  return text(driver().write_value(stream, address(signal.flag), signal.value, 0));
}

}  // namespace

const char* open_side(crossrail_queue& queue) {
  SideStream& side = queue.sides.emplace_back();
  GPU_TRY(make_stream(&side.stream, 0));
  GPU_TRY(make_event(&side.fork));
  return text(make_event(&side.join));
}

void close_sides(crossrail_queue& queue) {
  for (const SideStream& side : queue.sides) {
    if (side.fork != nullptr) (void)driver().destroy_event(side.fork);
    if (side.join != nullptr) (void)driver().destroy_event(side.join);
    if (side.stream != nullptr) (void)driver().destroy_stream(side.stream);
  }
  queue.sides.clear();
}

const char* exchange_by_copies(crossrail_queue& queue, const crossrail_exchange& exchange) {
  if (exchange.work.stream == nullptr) {
    if (const char* wrong = follow_persistent(queue); wrong != nullptr) return wrong;
  }
  const Stream stream = exchange.work.stream != nullptr ? program_stream(exchange.work.stream) : queue.stream;
  const Sides& sides = sides_of(queue, exchange);
  if (sides.locals > 0 && sides.remotes > 0) {
    if (const char* wrong = copy_both_sides(queue, exchange, sides, stream); wrong != nullptr) return wrong;
  } else {
    GPU_TRY(copy_side(exchange, sides, sides.locals > 0, stream));
  }
  return tell_host(queue, exchange, stream);
}

const char* exchange(crossrail_queue& queue, const crossrail_exchange& asked) {
  const crossrail_work& work = asked.work;
  if (work.stream == nullptr && asked.engine == CROSSRAIL_ENGINE_KERNEL) return exchange_with(queue, asked);
  const Uncaptured uncaptured;
  const Meetings meetings{work.before, work.after};
  if (!meetings.any()) return exchange_with(queue, asked);
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (fits_between(asked, meetings)) return exchange_between(queue, asked, meetings);
  if (const char* wrong = meet_alone(queue, work.before, work.stream); wrong != nullptr) return wrong;
  if (const char* wrong = exchange_with(queue, asked); wrong != nullptr) return wrong;
  return meet_alone(queue, work.after, work.stream);
}

}  // namespace gpu
