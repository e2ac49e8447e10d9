// DeviceSharing makes calls on device memory among the ranks of a node, for one slot. It puts the parts of this folder together for the
// call that runs.
//
//   DeviceRendezvous   the ranks tell each other where their sides lie
//   PeerMappings       what they map of each other
//   freed_memory       large allocations that the program frees, noticed without a call
//   DeviceStaging      device memory of ours for what peers cannot map
//   MessageRoom        memory of ours for messages to and from other nodes
//   DeviceQueue        work of the device, and its end
//   ReceiveBuffers     memory for kernels that wait for each other
//   StreamOrder        calls in the order of the program's streams
//
// Ranks may pass any memory, so in each call every rank publishes where its two sides lie and reads what the others have published. A call
// is one on device memory only if every side of every rank is there. The ranks look whether all of them have a device module at their calls
// 1, 2, 4, 8, ..., since a driver may be loaded late.
//
// After its first call a communicator never waits for the program's kernels. Freeing and unmapping memory may synchronize the device, so
// the module defers both to a background thread, which runs at the end of a later call if the device is idle (modules/gpu/later.h). A copy
// of the program's that has not ended is another matter: cudaMemcpy from pageable memory may return early, and our streams do not wait for
// it. The module therefore sets memory that it sees for the first time to synchronize such copies or, where that cannot be set (pools),
// waits a short while for the default streams in every call.
//
// In v-calls a rank publishes for each other rank where its block goes and how long it is, and the length of the block that it sends
// (DevicePlace). So senders write to the right place, both ends of a pair see alike where lengths do not match, and all ranks count the
// rounds of staged blocks alike. A side whose blocks lie in several allocations counts as host memory, because anything may lie between
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "device_sharing/device_queue.h"
#include "device_sharing/device_staging.h"
#include "device_sharing/message_room.h"
#include "device_sharing/peer_mappings.h"
#include "device_sharing/stream_order.h"
#include "topology/group.h"

namespace crossrail {

// These are the sides of one call, as the program has them. A side of which `ours` is true (it has gaps that others cannot be told, or it
// is sent in place) is staged whatever its memory is.
struct DeviceSide {
  const void* address = nullptr;
  std::size_t bytes = 0;  // The call may touch this many, from `address` on.
  bool ours = false;
  bool empty = false;  // It has no bytes, as in a v-call or a rooted one.
  bool gaps = false;   // There are gaps between its bytes. Others can write to it as its places tell, but not read it.
};
// The call needs this of the room for messages.
struct MessageNeeds {
  std::size_t bytes = 0;
  std::size_t longest = 0;      // It is the length of the longest message in bytes.
  bool for_processors = false;  // Processors work with what is there, so it is host memory.
  MessageRoom::Where where = MessageRoom::Where::host;
};
// A call needs this of every rank besides.
struct DeviceNeeds {
  MessageNeeds room;
  crossrail_reduction reduction{};  // Kernels must be able to do it. A reduction of nothing asks for none.
  bool no_staging = false;          // The call takes what would go through memory of ours as host memory.
  std::array<const void*, 4> arrays{};  // Its device reads them where they are in device memory. Null stands for none.
};
struct DeviceCall {
  DeviceSide send, recv;
  std::size_t block_bytes = 0;  // In v-calls it is the length of this rank's longest block.
  // In v-calls there is one for every rank, with offsets from the address of `recv`. Elsewhere it is null.
  const DevicePlace* places = nullptr;
  const Group* node = nullptr;  // The places of these ranks, those of this node, matter. It is null if the node has all.
  DeviceNeeds needs;
  bool stays = false;  // The call is under way when it returns. What is mapped for it stays so while the program has the memory.
  bool reachable = false;  // The caller answers for it that this rank's kernels reach both sides, whatever memory they are.
};

class DeviceSharing {
 public:
  struct Config {
    std::byte* region;            // It has device_lines_bytes of the node's segment.
    int entries;                  // It is the number of allocations that a rank can export at a time.
    std::uint64_t staging_bytes;  // It is the most device memory of ours on each side.
    PeerMappings::Limits mapped;
    DeviceLimits limits;
  };
  DeviceSharing(const Config& config, ControlBlock& control, Links& links);
  ~DeviceSharing();
  DeviceSharing(const DeviceSharing&) = delete;
  DeviceSharing& operator=(const DeviceSharing&) = delete;

  // Notes that a call begins whose sides may be on devices. Returns whether look_for_modules() must be called: all ranks have a module
  // already, or this is one of the calls 1, 2, 4, ... at which every rank of the node asks whether all have one by now.
  bool attends_call() {
    if (mappings_.has_value()) return true;
    ++calls_;
    return (calls_ & (calls_ - 1)) == 0;
  }
  // All ranks of the node call this at the same calls.
  Status look_for_modules();
  bool active() const { return mappings_.has_value() && !mappings_->hopeless(); }
  // This is called instead for memory that only some ranks have and others may map (shared_device). Some of these ranks may be without a
  // module.
  void do_without_modules() { mappings_.emplace(region_, control_, mapped_limits_); }

  // Returns whether the sides of a call that maps nothing are in device memory here, and what else the call needs. It asks no other rank.
  bool is_on_device(const DeviceCall& call) { return call.reachable || describe(call, MappedSide::none).on_device(); }
  // Tells where the sides of the call lie and waits for all others. `wanted` are the sides that the call's plan maps.
  Status exchange_descriptors(const DeviceCall& call, MappedSide wanted, bool& on_devices);

  // ----- These concern the call whose descriptors have been exchanged.
  // Maps sides of all ranks, where they have not been mapped. It returns Code::unsupported, on all ranks alike, where some rank cannot.
  // Then the call must be carried otherwise.
  Status map_peers(MappedSide sides);
  bool staged(MappedSide side) const { return mine(side).residency == Residency::staged; }
  // Returns whether some rank's side is staged.
  bool any_staged(MappedSide side) const;
  // The first says how many bytes of a block fit one round, the least of all ranks. It may be any number for a v-call that nobody stages.
  // The second is the length of the longest block of all ranks.
  std::size_t chunk() const { return chunk_; }
  std::size_t longest() const { return longest_; }
  // Returns device memory of ours, where this side is staged. Block i lies at i chunks.
  std::byte* staging(MappedSide side) const { return staging_.memory(side); }
  // This names block `number` of another rank's side, which this rank has mapped. If the side is not staged, the block lies `begin` bytes
  // behind its beginning.
  struct BlockAddress {
    int peer;
    MappedSide side;
    std::size_t number;
    std::size_t begin;
  };
  std::byte* block(const BlockAddress& which) const;
  // Returns whether a side of `owner` holds anything.
  bool has_bytes(int owner, MappedSide side) const { return all_[static_cast<std::size_t>(owner)].side(side).residency != Residency::empty; }
  // Returns whether the call of `owner` is in place.
  bool in_place(int owner) const { return all_[static_cast<std::size_t>(owner)].send.in_place; }
  // In a v-call, these say what `owner` says of its blocks from and to `peer`, and where they lie from byte `from` on, where this rank has
  // that mapped.
  const DevicePlace& place(int owner, int peer) const { return rendezvous_.place(owner, peer); }
  std::byte* receives_at(int owner, int peer, std::size_t from) const;
  crossrail_elements receives(int owner, int peer, std::size_t from) const;  // It does the same with the gaps that it has there.
  const std::byte* sends_from(int owner, int peer, std::size_t from) const;
  // Keeps the mapping for a call that stays under way.
  void keep_mapped(MappedSide sides);
  // Ends a call whose work is all done.
  void end_call();

  DeviceQueue& queue() { return queue_; }
  DeviceRendezvous& rendezvous() { return rendezvous_; }
  PeerMappings& mappings() { return *mappings_; }
  // It has as many bytes as the call has asked for.
  const MessageRoom& message_room() const { return message_room_; }
  // They serve calls that return when they are done. Both are there once `active` holds.
  ReceiveBuffers& receive_buffers() { return *receive_buffers_; }
  StreamOrder& streams() { return *streams_; }

 private:
  const ExportedSide& mine(MappedSide side) const { return all_[static_cast<std::size_t>(control_.node_rank())].side(side); }
  struct Wanted {
    bool mapped;  // Peers map it.
    bool stays;   // DeviceCall explains it.
  };
  // Returns whether this rank has what else the call needs.
  bool equipped_for(const DeviceNeeds& needs);
  DeviceDescriptor describe(const DeviceCall& call, MappedSide wanted);
  ExportedSide locate(const DeviceSide& side, MappedSide which, Wanted wanted);
  ExportedSide share(const crossrail_memory& facts, const void* address, MappedSide which);
  ExportedSide stage(MappedSide which);

  ControlBlock& control_;
  Links& links_;
  DeviceRegion region_;
  PeerMappings::Limits mapped_limits_;
  DeviceQueue queue_;
  DeviceStaging staging_;
  MessageRoom message_room_;
  DeviceRendezvous rendezvous_;
  // They are there once all ranks have a module.
  std::optional<PeerMappings> mappings_;
  std::optional<ReceiveBuffers> receive_buffers_;
  std::optional<StreamOrder> streams_;
  std::uint64_t calls_ = 0;

  // These concern the present call.
  DeviceDescriptors all_;
  const DevicePlace* places_ = nullptr;
  std::size_t block_bytes_ = 0;
  bool no_staging_ = false;
  std::size_t chunk_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace crossrail
