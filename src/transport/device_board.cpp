#include "transport/device_board.h"

#include <algorithm>
#include <bit>

#include "device/device.h"

namespace crossrail {
namespace {

constexpr std::size_t kLeastScratchBytes = std::size_t{1} << 20;
constexpr std::size_t kChunkUnit = 256;   // chunks are whole multiples: copies stay aligned

bool complete(const crossrail_device_module* module) {
  return module != nullptr && module->describe != nullptr && module->exchange != nullptr && module->open_queue != nullptr &&
         module->open_flags != nullptr && module->export_memory != nullptr && module->open_memory != nullptr;
}

}  // namespace

DeviceBoard::DeviceBoard(const Placement& placement, NodeBoard& board, Links& links)
    : board_(board),
      links_(links),
      placement_(placement),
      flags_(reinterpret_cast<DeviceFlags*>(placement.region)),
      lines_(reinterpret_cast<DeviceLines*>(placement.region + device_flags_bytes(board.node_size()))),
      doors_(static_cast<std::size_t>(board.node_size())),
      freed_(static_cast<std::size_t>(board.node_size())) {}

DeviceBoard::~DeviceBoard() { close(); }

void DeviceBoard::close() {
  watcher_ = std::jthread();
  if (queue_ != nullptr) (void)module_->drain(queue_);
  windows_.reset();
  for (Scratch* scratch : {&scratch_[0], &scratch_[1], &inboxes_[0].own, &inboxes_[1].own}) {
    if (scratch->memory != nullptr) (void)module_->free(scratch->memory);
    *scratch = Scratch{};
  }
  if (queue_ == nullptr) return;
  module_->close_flags(queue_, flags_);
  module_->close_queue(queue_);
  queue_ = nullptr;
}

// A program may load its driver at any time: all ranks ask again at their calls 1, 2, 4, 8, ...
Status DeviceBoard::look_for_modules(When when) {
  if (active_ || given_up_ || (!std::has_single_bit(++calls_) && when == When::seldom)) return {};
  module_ = device::module();
  Code worst = Code::ok;
  CROSSRAIL_TRY(board_.agree(complete(module_) ? Code::ok : Code::unsupported, worst));
  active_ = worst == Code::ok;
  if (active_) windows_ = std::make_unique<DeviceWindows>(lines_, board_.node_rank(), board_.node_size());
  return {};
}

bool DeviceBoard::open_queue(const crossrail_memory& near) {
  if (queue_ != nullptr || unusable_) return queue_ != nullptr;
  unusable_ = module_->open_queue(&near, &queue_) != nullptr;
  if (unusable_) return false;
  if (module_->open_flags(queue_, flags_, device_flags_bytes(board_.node_size())) != nullptr) {
    module_->close_queue(queue_);
    queue_ = nullptr;
    unusable_ = true;
    return false;
  }
  home_ = near;
  lines_[board_.node_rank()].identity = module_->identity(queue_);
  return true;
}

bool DeviceBoard::reserve(Scratch& scratch, std::size_t bytes) {
  const std::size_t most = static_cast<std::size_t>(placement_.scratch_bytes);
  const std::size_t ranks = static_cast<std::size_t>(board_.node_size());
  std::size_t wanted = std::min(std::bit_ceil(std::max(bytes, kLeastScratchBytes)), most);
  if (scratch.bytes >= std::min(bytes, most)) return scratch.bytes >= ranks * kChunkUnit;
  // What memory there is: half of what was asked for will do, in more rounds.
  for (; wanted > scratch.bytes && wanted >= ranks * kChunkUnit; wanted /= 2) {
    void* memory = nullptr;
    if (module_->alloc(&home_, wanted, &memory) != nullptr) continue;
    if (scratch.memory != nullptr) (void)module_->free(scratch.memory);
    scratch.memory = static_cast<std::byte*>(memory);
    scratch.bytes = wanted;
    module_->describe(memory, wanted, &scratch.facts);
    break;
  }
  return scratch.bytes >= ranks * kChunkUnit;
}

OfferedSide DeviceBoard::stage(Scratch& scratch) {
  const std::size_t ranks = static_cast<std::size_t>(board_.node_size());
  if (!reserve(scratch, block_bytes_ * ranks)) return {};
  OfferedSide offered = windows_->offer(scratch.facts, scratch.memory);
  if (offered.place == Place::host) return {};
  offered.place = Place::staged;
  chunk_ = std::min(chunk_, scratch.bytes / ranks / kChunkUnit * kChunkUnit);
  return offered;
}

// Where a side of this rank lies for the others. `offered`: they may want to map it.
OfferedSide DeviceBoard::place(const DeviceSide& side, Scratch& scratch, bool offered) {
  crossrail_memory facts{};
  module_->describe(side.address, side.bytes, &facts);
  if (facts.kind == CROSSRAIL_MEMORY_HOST || !open_queue(facts)) return {};
  // Kernels here may not be allowed to touch what this process has on another device, or in another context.
  const bool at_home = facts.device == home_.device &&
                       (facts.context == nullptr || home_.context == nullptr || facts.context == home_.context);
  if (!at_home && facts.kind != CROSSRAIL_MEMORY_MANAGED) return {};
  if (side.ours) return stage(scratch);
  if (!offered) return {Place::device, 0, 0, 0};
  const OfferedSide mapped = windows_->offer(facts, side.address);
  return mapped.place == Place::device ? mapped : stage(scratch);
}

void DeviceBoard::hang_out(std::uint64_t flag, const OfferedSide& send, const OfferedSide& recv) {
  DeviceDoor& door = lines_[board_.node_rank()].door[meetings_ & 1];
  door.send.store(send.word(), std::memory_order_relaxed);
  door.send_offset.store(send.offset, std::memory_order_relaxed);
  door.recv.store(recv.word(), std::memory_order_relaxed);
  door.recv_offset.store(recv.offset, std::memory_order_relaxed);
  door.chunk.store(chunk_, std::memory_order_relaxed);
  door.freed.store(freed_[static_cast<std::size_t>(board_.node_rank())], std::memory_order_relaxed);
  door.flag.store(flag, std::memory_order_release);
}

Status DeviceBoard::read_doors(std::uint64_t flag) {
  for (int step = 0; step < board_.node_size(); ++step) {
    const int peer = (board_.node_rank() + step) % board_.node_size();
    const DeviceDoor& door = lines_[peer].door[meetings_ & 1];
    CROSSRAIL_TRY(board_.await(peer, [&] { return door.flag.load(std::memory_order_acquire) == flag; }));
    doors_[static_cast<std::size_t>(peer)] = {
        OfferedSide::from(door.send.load(std::memory_order_relaxed), door.send_offset.load(std::memory_order_relaxed)),
        OfferedSide::from(door.recv.load(std::memory_order_relaxed), door.recv_offset.load(std::memory_order_relaxed))};
    chunk_ = std::min<std::size_t>(chunk_, door.chunk.load(std::memory_order_relaxed));
    std::uint64_t& freed = freed_[static_cast<std::size_t>(peer)];
    if (const std::uint64_t now = door.freed.load(std::memory_order_relaxed); now != freed) {
      windows_->drop_windows(peer);
      freed = now;
    }
  }
  return {};
}

Status DeviceBoard::meet(const DeviceCall& call, Window wanted, bool& on_devices) {
  block_bytes_ = call.block_bytes;
  chunk_ = call.block_bytes;
  const std::uint64_t flag = board_.flag(++meetings_);
  freed_[static_cast<std::size_t>(board_.node_rank())] = windows_->look_for_freed();
  OfferedSide recv = place(call.recv, scratch_[1], wanted == Window::recv);
  OfferedSide send;
  if (recv.place != Place::host) send = place(call.send, scratch_[0], wanted == Window::send);
  hang_out(flag, send, recv);
  CROSSRAIL_TRY(read_doors(flag));
  on_devices = std::all_of(doors_.begin(), doors_.end(), [](const auto& door) {
    return door[0].place != Place::host && door[1].place != Place::host;
  });
  return {};
}

bool DeviceBoard::any_staged(Window side) const {
  for (int rank = 0; rank < board_.node_size(); ++rank) {
    if (offered(rank, side).place == Place::staged) return true;
  }
  return false;
}

Status DeviceBoard::open_windows(Window window) {
  bool fresh = false;
  for (int rank = 0; rank < board_.node_size(); ++rank) fresh = fresh || windows_->fresh(rank, offered(rank, window));
  return fresh ? map_windows(window) : Status{};
}

// Some rank offers memory that the others have not mapped: all of them do, and agree on the outcome.
Status DeviceBoard::map_windows(Window window) {
  if (windows_->fresh(board_.node_rank(), this->mine(window))) windows_->send(this->mine(window));
  CROSSRAIL_TRY(board_.meet());
  Status mine;
  for (int rank = 0; rank < board_.node_size(); ++rank) {
    if (!windows_->fresh(rank, offered(rank, window))) continue;
    const Status opened = windows_->open(queue_, rank, offered(rank, window));
    if (!opened.ok()) mine = opened;
  }
  Code worst = Code::ok;
  CROSSRAIL_TRY(board_.agree(mine.ok() ? Code::ok : Code::unsupported, worst));
  const OfferedSide& own = this->mine(window);
  const bool refused = windows_->refused(own);
  if (worst == Code::ok) return {};
  // If even our own memory cannot be mapped, nothing can: all ranks hear of it.
  CROSSRAIL_TRY(board_.agree(refused && own.place == Place::staged ? Code::unsupported : Code::ok, worst));
  given_up_ = worst != Code::ok;
  active_ = !given_up_;
  return mine.ok() ? failed(Code::unsupported, "another rank could not map device memory")
                   : failure(Code::unsupported, "%s", mine.what);
}

std::byte* DeviceBoard::block(const BlockPlace& which) const {
  const OfferedSide& side = offered(which.peer, which.side);
  std::byte* const base = which.peer == board_.node_rank() ? nullptr : windows_->at(which.peer, side);
  return side.place == Place::staged ? base + which.number * chunk_ : base + which.number * block_bytes_ + which.from;
}

Status DeviceBoard::open_inboxes(Use use, std::size_t bytes) {
  Inboxes& inboxes = inboxes_[static_cast<int>(use)];
  if (!inboxes.all.empty()) return {};
  const auto doors = doors_;
  const std::size_t chunk = chunk_;
  OfferedSide offered_inbox;
  void* memory = inboxes.own.memory;
  if (memory != nullptr || module_->alloc(&home_, bytes, &memory) == nullptr) {
    inboxes.own = {static_cast<std::byte*>(memory), bytes, {}};
    module_->describe(memory, bytes, &inboxes.own.facts);
    offered_inbox = windows_->offer(inboxes.own.facts, memory);
  }
  const std::uint64_t flag = board_.flag(++meetings_);
  hang_out(flag, offered_inbox, offered_inbox);
  CROSSRAIL_TRY(read_doors(flag));
  Status status;
  for (const auto& door : doors_) {
    if (door[0].place == Place::host) status = failed(Code::no_memory, "no device memory for the inboxes of packets");
  }
  if (status.ok()) status = open_windows(Window::send);
  if (status.ok()) windows_->pin(offered_inbox);
  for (int rank = 0; status.ok() && rank < board_.node_size(); ++rank) {
    inboxes.all.push_back(rank == board_.node_rank() ? memory : windows_->at(rank, offered(rank, Window::send)));
  }
  doors_ = doors;
  chunk_ = chunk;
  return status;
}

}  // namespace crossrail
