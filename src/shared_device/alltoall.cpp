#include "shared_device/alltoall.h"

#include <algorithm>

#include "collectives/allreduce/node_part.h"
#include "device/device.h"

namespace crossrail::shared_device {
namespace {

using allreduce::Shares;
using allreduce::Stretch;

// This is a part of everybody's share of two blocks: one goes to the device `step` steps further on, and one comes from the device as many
// steps before.
struct StepPart {
  std::size_t number = 0;  // It counts all parts of the call.
  int step = 0;
  std::size_t done = 0;  // It counts the bytes of each share in the parts before.
  std::uint64_t epoch = 0;
  DeviceWork fetched;
};

class Alltoall {
 public:
  Alltoall(SharedDevice& device, const Blocks& blocks)
      : device_(device), members_(device.members()), blocks_(blocks), rank_(device.topology().node_rank()),
        leader_(members_.node_leader(members_.device())), launched_(device.queue().launched()),
        shares_{blocks.bytes, device.least_share_bytes(), members_.fewest_processes()} {}

  Status run() {
    CROSSRAIL_TRY(device_.control().barrier());  // After it, what leaders send is there, and others may write where they receive.
    CROSSRAIL_TRY(copy_in_node());
    if (device_.topology().one_node() && blocks_.send.mapped && blocks_.recv.mapped) return device_.queue().finish(given_);
    const std::size_t most = shares_.of(0).count;  // Nobody has more.
    StepPart before;
    std::size_t number = 0;
    for (int step = 1; step < members_.devices(); ++step) {
      for (std::size_t done = 0; done < most; done += device_.room_bytes()) {
        StepPart part{number, step, done, device_.control().next_epoch(), {}};
        CROSSRAIL_TRY(fetch(part));
        if (number++ > 0) CROSSRAIL_TRY(across(before));
        before = part;
      }
    }
    if (number > 0) CROSSRAIL_TRY(across(before));
    return device_.queue().finish(given_);
  }

 private:
  // Returns whether processes copy straight to another device, which must be of this node.
  bool direct(int other) const {
    return other == members_.device() || (blocks_.send.mapped && blocks_.recv.mapped && members_.node_leader(other) >= 0);
  }
  int to(const StepPart& part) const { return (members_.device() + part.step) % members_.devices(); }
  int from(const StepPart& part) const { return (members_.device() - part.step + members_.devices()) % members_.devices(); }

  // Copies whole blocks. It is done by whoever launches for this device's leader.
  Status copy_in_node() {
    list_.clear();
    for (int other = 0; rank_ == leader_ && other < members_.devices(); ++other) {
      if (!direct(other)) continue;
      const int leader = other == members_.device() ? leader_ : members_.node_leader(other);
      list_.push_back({block(blocks_.recv, leader, members_.device()), block(blocks_.send, leader_, other), blocks_.bytes});
    }
    return device_.begin_copies(list_, given_);
  }
  std::byte* block(const Buffer& buffer, int leader, int number) const {
    return device_.memory_of(buffer, leader) + static_cast<std::size_t>(number) * blocks_.bytes;
  }

  // Returns a rank's piece of a part, of a block that goes by messages.
  Stretch piece(int node_rank, const StepPart& part, int other) const {
    const Stretch share = direct(other) ? Stretch{0, 0} : shares_.of(members_.place_of(node_rank));
    const std::size_t done = std::min(part.done, share.count);
    return {share.first + done, std::min(device_.room_bytes(), share.count - done)};
  }
  static std::size_t leaving(const StepPart& part) { return part.number % 2; }
  static std::size_t arriving(const StepPart& part) { return 2 + part.number % 2; }

  Status fetch(StepPart& part) {
    list_.clear();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part, to(part));
      list_.push_back({device_.room_on_device(rank, leaving(part)), block(blocks_.send, leader_, to(part)) + its.first, its.count});
    }
    return device_.begin_copies(list_, part.fetched);
  }
  Status across(const StepPart& part) {
    CROSSRAIL_TRY(device_.queue().finish_launched(part.fetched));
    const Group& group = members_.same_place();
    const Stretch out = piece(rank_, part, to(part)), in = piece(rank_, part, from(part));
    Plan& plan = device_.plan();
    if (in.count > 0) CROSSRAIL_TRY(plan.receive(group[from(part)], device_.room(arriving(part)), in.count));
    if (out.count > 0) CROSSRAIL_TRY(plan.send(group[to(part)], device_.room(leaving(part)), out.count));
    CROSSRAIL_TRY(plan.links->wait_posted());
    CROSSRAIL_TRY(device_.rooms_are_filled(part.epoch));
    list_.clear();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part, from(part));
      list_.push_back({block(blocks_.recv, leader_, from(part)) + its.first, device_.room_on_device(rank, arriving(part)), its.count});
    }
    return device_.begin_copies(list_, given_);
  }

  SharedDevice& device_;
  const Members& members_;
  const Blocks& blocks_;
  int rank_, leader_;  // They are ranks in the node.
  const std::vector<int>& launched_;
  Shares shares_;  // They are shares of a block.
  DeviceWork given_;
  std::vector<crossrail_block> list_;
};

Status check(const SharedDevice& device, const Blocks& blocks) {
  const auto devices = static_cast<std::size_t>(device.members().devices());
  if (blocks.send.number == blocks.recv.number) return failed(Code::invalid, "one buffer both to send and to receive");
  if (blocks.bytes > std::min(blocks.send.bytes, blocks.recv.bytes) / devices) {
    return failure(Code::invalid, "a buffer has no room for %zu blocks of %zu bytes", devices, blocks.bytes);
  }
  return {};
}

}  // namespace

Status alltoall(SharedDevice& device, const Blocks& blocks) {
  CROSSRAIL_TRY(check(device, blocks));
  device.await_copies(blocks.send);
  device.await_copies(blocks.recv);
  if (blocks.bytes == 0) return {};
  if (device.alone()) return device::copy(blocks.recv.memory, blocks.send.memory, blocks.bytes);
  device.plan().part = "pairwise";
  device.plan().shape = Shape{Collective::alltoall, Memory::device, false, blocks.bytes};
  const std::uint64_t hash = mix_word(mix_word(device.plan().shape.hash(), blocks.send.number), blocks.recv.number);
  return device.call({"crossrail_shared_alltoall", hash, blocks.bytes}, [&] { return Alltoall(device, blocks).run(); });
}

}  // namespace crossrail::shared_device
