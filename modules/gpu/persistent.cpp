// This is the host's side of the persistent kernel (kernels/persistent.h says how the two keep from missing each other). Commands are
// numbered. Number n is written into slot n % kCommandSlots.

#include <atomic>
#include <cstring>

#include "later.h"
#include "queue.h"

namespace gpu {
namespace {

using kernels::kMostPending;

constexpr int kSpinsBetweenLooks = 1 << 14;
constexpr uint64_t kLivesOfIdle = 16;  // The kernel leaves after this many times its idle limit in any case.

uint64_t read(uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
bool has_left(Persistent& persistent) { return read(persistent.board->left) == persistent.launch; }

void write_pair(kernels::StampedPair& pair, uint64_t data, uint32_t number) {
  const uint64_t high = uint64_t{number} << 32;
  std::atomic_ref(pair.low).store(high | (data & 0xffffffffu), std::memory_order_relaxed);
  std::atomic_ref(pair.high).store(high | data >> 32, std::memory_order_relaxed);
}

// Writes the head last: it says that all the rest is there.
void write_command(Persistent& persistent, const kernels::ManyBlocks& task, uint32_t number) {
  kernels::StampedPair* pairs = persistent.board->commands[number % kernels::kCommandSlots].pairs;
  const uint32_t blocks = task.list.count <= kernels::kManyBlocks ? task.list.count : 0;
  for (uint32_t i = 0; i < blocks; ++i) {
    kernels::StampedPair* of_block = pairs + kernels::kPairs * (1 + i);
    write_pair(of_block[0], reinterpret_cast<uint64_t>(task.blocks[i].to), number);
    write_pair(of_block[1], reinterpret_cast<uint64_t>(task.blocks[i].from), number);
    write_pair(of_block[2], task.blocks[i].bytes | task.blocks[i].first << 32, number);
  }
  std::atomic_thread_fence(std::memory_order_release);
  const kernels::Blocks& list = task.list;
  write_pair(pairs[0], reinterpret_cast<uint64_t>(task.signal.flag), number);
  write_pair(pairs[1], task.signal.value, number);
  write_pair(pairs[2], list.count | uint64_t{list.even} << 16 | list.pieces << 17 | list.piece_bytes << 32, number);
}

const char* open_persistent(crossrail_queue& queue) {
  Persistent& persistent = queue.persistent;
  if (persistent.stream == nullptr) GPU_TRY(make_stream(&persistent.stream, high_priority()));
  if (persistent.board != nullptr) return nullptr;
  void *board = nullptr, *mapped = nullptr;
  GPU_TRY(allocate_mapped(&board, sizeof(kernels::PersistentBoard), &mapped));
  std::memset(board, 0, sizeof(kernels::PersistentBoard));
  persistent.board = static_cast<kernels::PersistentBoard*>(board);
  persistent.mapped = static_cast<kernels::PersistentBoard*>(mapped);
  return nullptr;
}

const char* launch_persistent(crossrail_queue& queue, uint32_t idle_us) {
  Persistent& persistent = queue.persistent;
  const uint64_t idle_ns = uint64_t{idle_us} * 1000;
  kernels::PersistentTask task{persistent.mapped, &queue.counters->taken, persistent.launch + 1, idle_ns, kLivesOfIdle * idle_ns};
  const Launch wanted{kernel_of(*queue.place, Kernel::persistent), 1, kernels::kMostThreads, &task, sizeof task};
  GPU_TRY(launch(wanted, persistent.stream));
  ++persistent.launch;
  return nullptr;
}

uint32_t pending(Persistent& persistent) {
  persistent.seen = static_cast<uint32_t>(read(persistent.board->done));
  const uint32_t distance = persistent.number - persistent.seen;
  return persistent.number < persistent.seen ? distance - 1 : distance;
}

const char* await_pending(crossrail_queue& queue, uint32_t most) {
  Persistent& persistent = queue.persistent;
  for (int spins = 1; pending(persistent) > most; ++spins) {
    if (spins % kSpinsBetweenLooks != 0) continue;
    const Uncaptured uncaptured;
    const Result state = driver().query_stream(persistent.stream);
    if (state == kNotReady || pending(persistent) <= most) continue;
    return state == kSuccess ? "the persistent kernel has left a command undone" : text(state);
  }
  return nullptr;
}

// Makes the command known, and sees to it that a kernel is there or comes.
const char* post(crossrail_queue& queue, const kernels::ManyBlocks& task, uint32_t idle_us) {
  Persistent& persistent = queue.persistent;
  const uint32_t before = persistent.number;
  persistent.number = kernels::number_after(before);
  write_command(persistent, task, persistent.number);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_left(persistent)) return nullptr;
  const char* wrong = launch_persistent(queue, idle_us);
  if (wrong != nullptr) persistent.number = before;
  return wrong;
}

}  // namespace

bool persistent_fits(crossrail_queue& queue, const crossrail_exchange& exchange) {
  if (exchange.work.stream != nullptr || exchange.persistent_us == 0 || queue.place->kernels_wrong != nullptr) return false;
  uint64_t total = 0;
  for (int i = 0; i < exchange.block_count; ++i) total += exchange.blocks[i].bytes;
  if (exchange.block_count > static_cast<int>(kernels::kManyBlocks) || total >> 31 != 0) return false;
  // Earlier work of the queue comes first.
  if (queue.stream_used && driver().query_stream(queue.stream) != kSuccess) return false;
  queue.stream_used = false;
  return true;
}

const char* command(crossrail_queue& queue, const Command& command) {
  if (const char* wrong = open_persistent(queue); wrong != nullptr) return wrong;
  if (const char* wrong = await_pending(queue, kMostPending - 1); wrong != nullptr) return wrong;
  kernels::ManyBlocks task;
  task.signal.flag = command.flag;
  task.signal.value = command.exchange.work.value;
  task.list = {};
  for (int i = 0; i < command.exchange.block_count; ++i) {
    const crossrail_block& block = command.exchange.blocks[i];
    if (block.bytes == 0) continue;
    task.blocks[task.list.count++] = {static_cast<char*>(block.to), static_cast<const char*>(block.from), block.bytes, 0};
  }
  (void)cut_for_one(task.list, task.blocks);
  return post(queue, task, command.exchange.persistent_us);
}

const char* await_persistent(crossrail_queue& queue) { return await_pending(queue, 0); }

const char* retire_persistent(crossrail_queue& queue) {
  Persistent& persistent = queue.persistent;
  if (persistent.launch == 0) return nullptr;
  if (const char* wrong = await_persistent(queue); wrong != nullptr) return wrong;
  if (!has_left(persistent)) {
    kernels::ManyBlocks task;
    task.list = {};
    task.signal = {};
    task.list.count = kernels::kRetire;
    task.list.piece_bytes = 1;
    persistent.number = kernels::number_after(persistent.number);
    write_command(persistent, task, persistent.number);
  }
  GPU_TRY(driver().await_stream(persistent.stream));
  // A kernel that was leaving already may not have seen the command. Its number is free again.
  persistent.number = persistent.seen = static_cast<uint32_t>(read(persistent.board->done));
  return nullptr;
}

void close_persistent(crossrail_queue& queue) {
  Persistent& persistent = queue.persistent;
  if (persistent.board != nullptr) do_later(*queue.place, {Chore::free_host, address(persistent.board), 0});
  if (persistent.stream != nullptr) (void)driver().destroy_stream(persistent.stream);
  persistent = {};
}

}  // namespace gpu
