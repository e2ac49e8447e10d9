// SharedDevice serves several processes a GPU. The first rank of each device, its leader, owns buffers there, and all ranks of the device
// drive their shares of a collective at the same time. What a process sends to other processes, and gets from them, lies in host memory of
// the node (rooms), which devices read and write.
//
// A device's work is launched by its leader, since a device without MPS would change between processes. The others need neither a driver
// nor the leader's memory. With CROSSRAIL_ONE_LAUNCHER=0 each process opens the memory and launches its own work.
// driver nor the leader's memory. With CROSSRAIL_ONE_LAUNCHER=0 each process opens the memory and launches its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/plan.h"
#include "comm/plan_summary.h"
#include "engine/engine.h"
#include "shared_device/members.h"

namespace crossrail::shared_device {

// A rank says this of a buffer when the buffer is opened. A leader names the buffer. The others name null, or any memory of theirs on the
// device, on which they then map the buffer, too.
struct OwnMemory {
  void* address;
  std::size_t bytes;  // It is the length of the buffer, on all ranks alike.
};

// This is memory of every leader, open for its node's ranks.
struct Buffer {
  std::uint64_t number = 0;  // It is the same on all ranks.
  std::size_t bytes = 0;
  std::byte* memory = nullptr;  // It is memory of this rank's leader, as this rank has it. It is null if this rank does not have it.
  bool mapped = false;          // It is mapped in this node.
  bool lanes = false;           // On all nodes, the launchers reach the memory of all leaders of their node and have kernels that combine.
  DeviceDescriptors sides;      // They are indexed by node rank.
};

class SharedDevice {
 public:
  static constexpr int kRooms = 4;  // Every rank has these for what leaves and what arrives in two parts of a call that are under way.
  static constexpr std::size_t kGrainBytes = 4096;  // Kernels work on at least this many bytes. Fewer are not worth a launch of their own.

  // `slot` is its own slot, whose part for devices it makes anew. `keys` are those of all ranks (Members).
  SharedDevice(Slot& slot, const std::vector<int>& keys);
  ~SharedDevice();
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  // All ranks call these alike. They may fail on all ranks with unsupported, no_memory or invalid, and nothing has changed then. All other
  // errors break the communicator up.
  Status open();
  Status open_buffer(const OwnMemory& mine, Buffer& buffer);
  // When this has returned, no other process has its memory mapped any longer.
  Status close_buffer(Buffer& buffer);
  struct CallFacts {
    const char* what;
    std::uint64_t hash, bytes;  // They are the same on all ranks.
  };
  template <class Work>
  Status call(const CallFacts& facts, Work work) {
    plan_.last = {};
    if (!alone()) CROSSRAIL_TRY(begin_own_call(slot_, hash_of(facts), facts.bytes));
    const Status status = work();
    ++plan_.calls;
    plan_.total += plan_.last;
    return alone() ? status : end_own_call(slot_, status);
  }

  // Returns the least share that a process sends. With less, each for itself, messages cost more than they save
  // (bench/results/other/shared_devices_2_hosts_2_h100.txt).
  std::size_t least_share_bytes() const { return room_bytes() / 4; }

  const Members& members() const { return members_; }
  const Topology& topology() const { return slot_.owner.topology; }
  const Settings& settings() const { return slot_.owner.settings; }
  bool alone() const { return topology().size == 1; }
  bool each_launches() const { return each_launches_; }
  ControlBlock& control() { return *slot_.control; }
  DeviceQueue& queue() const { return slot_.devices->queue(); }
  // Messages are sent with this plan and counted by it.
  Plan& plan() { return plan_; }
  // Returns what the last allreduce has moved.
  PlanSummary moved() const;

  // ----- rooms
  std::size_t room_bytes() const { return room_bytes_; }
  std::byte* room(std::size_t number) const { return rooms_ + place_of(topology().node_rank(), number); }
  // Returns the same room as this rank's device sees it. It belongs to a rank for which this one launches.
  std::byte* room_on_device(int node_rank, std::size_t number) const {
    return rooms_on_device_ + place_of(node_rank, number) - place_of(topology().node_rank(), 0);
  }
  // Tells that what this rank had to do to its rooms is done. It returns when all for whom this rank launches have said so.
  Status rooms_are_filled(std::uint64_t epoch);
  // Begins copies between rooms and devices. The rank that launches calls it.
  Status begin_copies(const std::vector<crossrail_block>& blocks, DeviceWork& work);
  // Returns the memory of a leader of this node as this rank has it.
  std::byte* memory_of(const Buffer& buffer, int leader) const {
    return leader == topology().node_rank() ? buffer.memory : slot_.devices->mappings().at(leader, side_of(buffer, leader));
  }
  // Waits, before a call reads the leader's memory, until what the program has begun to copy there has arrived.
  void await_copies(const Buffer& buffer) const;

 private:
  enum class Reason : std::uint32_t;
  static Status refusal(Reason reason);
  static std::uint64_t hash_of(const CallFacts& facts);
  Status agree_on_reason(Reason mine);
  std::size_t place_of(int node_rank, std::size_t number) const {
    return (static_cast<std::size_t>(members_.index_by_device(node_rank)) * kRooms + number) * room_bytes_;
  }
  Status make_rooms();
  Reason look_at(const OwnMemory& mine, crossrail_memory& facts);
  Reason prepare_device(const crossrail_memory& facts);
  Status check_buffer(const OwnMemory& mine, Buffer& buffer);
  Status share_buffer(const crossrail_memory& facts, Buffer& buffer);
  void keep(Buffer& buffer);
  void let_go(Buffer& buffer);
  static const ExportedSide& side_of(const Buffer& buffer, int leader) { return buffer.sides[static_cast<std::size_t>(leader)].recv; }

  Slot& slot_;
  Members members_;
  Plan plan_;
  bool each_launches_;
  std::uint64_t buffers_ = 0;  // This many have been opened so far.
  std::byte* rooms_ = nullptr;
  std::byte* rooms_on_device_ = nullptr;  // It begins with this rank's rooms.
  std::size_t room_bytes_ = 0;
  std::map<std::pair<int, int>, int> uses_;  // It counts, for entries of leaders' memory, the buffers that use them.
};

}  // namespace crossrail::shared_device
