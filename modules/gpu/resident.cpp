// The host's side of the resident kernel (kernels/resident.h says how the two keep from missing each
// other). Commands are numbered; number n is written into slot n % kCommandSlots.

#include <atomic>
#include <cstring>

#include "queue.h"

namespace gpu {
namespace {

using kernels::kMostPending;

constexpr int kSpinsBetweenLooks = 1 << 14;
constexpr uint64_t kLivesOfIdle = 16;  // the kernel leaves after so many times its idle limit in any case

uint64_t read(uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
bool has_left(Resident& resident) { return read(resident.board->left) == resident.launch; }

void write_pair(kernels::StampedPair& pair, uint64_t data, uint32_t number) {
  const uint64_t high = uint64_t{number} << 32;
  std::atomic_ref(pair.low).store(high | (data & 0xffffffffu), std::memory_order_relaxed);
  std::atomic_ref(pair.high).store(high | data >> 32, std::memory_order_relaxed);
}

// The head last: it says that all the rest is there.
void write_command(Resident& resident, const kernels::ManyBlocks& task, uint32_t number) {
  kernels::StampedPair* pairs = resident.board->commands[number % kernels::kCommandSlots].pairs;
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

const char* open_resident(crossrail_queue& queue) {
  Resident& resident = queue.resident;
  if (resident.stream == nullptr) GPU_TRY(make_stream(&resident.stream, high_priority()));
  if (resident.board != nullptr) return nullptr;
  void *board = nullptr, *mapped = nullptr;
  GPU_TRY(allocate_mapped(&board, sizeof(kernels::ResidentBoard), &mapped));
  std::memset(board, 0, sizeof(kernels::ResidentBoard));
  resident.board = static_cast<kernels::ResidentBoard*>(board);
  resident.mapped = static_cast<kernels::ResidentBoard*>(mapped);
  return nullptr;
}

const char* launch_resident(crossrail_queue& queue, uint32_t idle_us) {
  Resident& resident = queue.resident;
  const uint64_t idle_ns = uint64_t{idle_us} * 1000;
  kernels::ResidentTask task{resident.mapped, &queue.counters->taken, resident.launch + 1, idle_ns, kLivesOfIdle * idle_ns};
  const Launch wanted{kernel_of(*queue.place, Kernel::resident), 1, kernels::kMostThreads, &task};
  GPU_TRY(launch(wanted, resident.stream));
  ++resident.launch;
  return nullptr;
}

uint32_t pending(Resident& resident) {
  resident.seen = static_cast<uint32_t>(read(resident.board->done));
  const uint32_t distance = resident.number - resident.seen;
  return resident.number < resident.seen ? distance - 1 : distance;
}

const char* await_pending(crossrail_queue& queue, uint32_t most) {
  Resident& resident = queue.resident;
  for (int spins = 1; pending(resident) > most; ++spins) {
    if (spins % kSpinsBetweenLooks != 0) continue;
    const Result state = driver().query_stream(resident.stream);
    if (state == kNotReady || pending(resident) <= most) continue;
    return state == kSuccess ? "the resident kernel has left a command undone" : text(state);
  }
  return nullptr;
}

// Makes the command known, and sees to it that a kernel is there or comes.
const char* post(crossrail_queue& queue, const kernels::ManyBlocks& task, uint32_t idle_us) {
  Resident& resident = queue.resident;
  const uint32_t before = resident.number;
  resident.number = kernels::number_after(before);
  write_command(resident, task, resident.number);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_left(resident)) return nullptr;
  const char* wrong = launch_resident(queue, idle_us);
  if (wrong != nullptr) resident.number = before;
  return wrong;
}

}  // namespace

bool resident_fits(crossrail_queue& queue, const crossrail_exchange& exchange) {
  if (exchange.stream != nullptr || exchange.resident_us == 0 || queue.place->kernels_wrong != nullptr) return false;
  uint64_t total = 0;
  for (int i = 0; i < exchange.block_count; ++i) total += exchange.blocks[i].bytes;
  if (exchange.block_count > static_cast<int>(kernels::kManyBlocks) || total >> 31 != 0) return false;
  // Earlier work of the queue comes first.
  if (queue.stream_used && driver().query_stream(queue.stream) != kSuccess) return false;
  queue.stream_used = false;
  return true;
}

const char* command(crossrail_queue& queue, const Command& command) {
  if (const char* wrong = open_resident(queue); wrong != nullptr) return wrong;
  if (const char* wrong = await_pending(queue, kMostPending - 1); wrong != nullptr) return wrong;
  kernels::ManyBlocks task;
  task.signal.flag = command.flag;
  task.signal.value = command.exchange.value;
  task.list = {};
  for (int i = 0; i < command.exchange.block_count; ++i) {
    const crossrail_block& block = command.exchange.blocks[i];
    if (block.bytes == 0) continue;
    task.blocks[task.list.count++] = {static_cast<char*>(block.to), static_cast<const char*>(block.from), block.bytes, 0};
  }
  (void)cut_for_one(task.list, task.blocks);
  return post(queue, task, command.exchange.resident_us);
}

const char* await_resident(crossrail_queue& queue) { return await_pending(queue, 0); }

const char* retire_resident(crossrail_queue& queue) {
  Resident& resident = queue.resident;
  if (resident.launch == 0) return nullptr;
  if (const char* wrong = await_resident(queue); wrong != nullptr) return wrong;
  if (!has_left(resident)) {
    kernels::ManyBlocks task;
    task.list = {};
    task.signal = {};
    task.list.count = kernels::kRetire;
    task.list.piece_bytes = 1;
    resident.number = kernels::number_after(resident.number);
    write_command(resident, task, resident.number);
  }
  GPU_TRY(driver().await_stream(resident.stream));
  // A kernel that was leaving already may not have seen the command: its number is free again.
  resident.number = resident.seen = static_cast<uint32_t>(read(resident.board->done));
  return nullptr;
}

void close_resident(crossrail_queue& queue) {
  Resident& resident = queue.resident;
  if (resident.board != nullptr) (void)driver().free_host(resident.board);
  if (resident.stream != nullptr) (void)driver().destroy_stream(resident.stream);
  resident = {};
}

}  // namespace gpu
