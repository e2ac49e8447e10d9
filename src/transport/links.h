// Links: the only way from one rank to another, for one call at a time. Links are implemented over MPI (src/mpi/communicator/mpi_links.h)
// and by threads (virtual_world/), so that the same algorithms run under both.
//
// The ranks of a node also share the node memory of a slot, which is made, and grown, when a plan asks for it (`share`). Schemes with
// leaders gather blocks there as regions, one for every other node and ordered [sender][receiver], so that a region travels as one message.
// Several plans of a slot use the same memory with different layouts; a plan that finds another plan's number there begins with a barrier
// of the node (Plan::enter_node_memory).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fiber.h"
#include "base/status.h"

namespace crossrail {

// Memory that all ranks of a node see, kept by a slot for whichever plan runs. It grows when a plan asks
// for more and never shrinks; every rank may see it at another address.
struct NodeMemory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t user = 0;  // number of the plan that ran last in it
};

class Links {
 public:
  virtual ~Links() = default;

  // Waits suspend this fiber from now on; null: they spin.
  void run_on(Fiber* fiber) { fiber_ = fiber; }
  Fiber* fiber() const { return fiber_; }
  // For the trace: the pending call whose links these are; 0: a blocking one.
  virtual std::uint64_t traced_call() const { return fiber_ == nullptr ? 0 : fiber_->traced; }
  // Of the slot on its communicator.
  static constexpr std::size_t kMostSlots = 256;
  virtual std::size_t slot_number() const { return 0; }

  // Call before the first message, from an algorithm's plan(). Collective. Errors: unsupported where
  // messages have not been opened yet and a fiber runs, which may not wait for them to be.
  virtual Status open_messages() = 0;
  virtual bool messages_open() const = 0;
  // Whether messages may, as far as is known, begin and end in device memory.
  virtual bool take_device_memory() const { return false; }

  // Messages of contiguous bytes; between two ranks they match in the order posted, within a
  // channel. Buffers must live until the message is waited for.
  enum class Channel : int { blocks, coalesced };  // of one rank to one other; of a node to another
  virtual Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) = 0;
  virtual Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) = 0;
  Status post_send(int rank, const void* data, std::size_t bytes) { return post_send(rank, data, bytes, Channel::blocks); }
  Status post_recv(int rank, void* data, std::size_t bytes) { return post_recv(rank, data, bytes, Channel::blocks); }
  // A receive of a block, or of a piece of one, that may come shorter: what has come is added to `came`, once waited for. The pieces of a
  // block have one `came`: as soon as one is shorter than its receive, no further one comes, and those posted end with nothing.
  struct UpTo {
    void* data;
    std::size_t bytes;  // kMostPiece at most
    std::size_t& came;
    bool more = false;  // pieces follow
  };
  static constexpr std::size_t kMostPiece = std::size_t{1} << 30;
  virtual Status post_recv_up_to(int rank, const UpTo& what, Channel channel) = 0;
  // What has been posted with this `came` and has not come will not.
  virtual void give_up(const std::size_t& came) = 0;
  // What was posted last, good until the next wait_posted.
  using Request = std::size_t;
  virtual Request last_posted() const = 0;
  virtual Status wait_for(Request request) = 0;
  // Completes everything posted so far.
  virtual Status wait_posted() = 0;
  // Ends a call that has met an error: what it has posted is cancelled or completed, so that nothing more
  // arrives in its buffers.
  virtual void cancel_posted() = 0;

  // Lets `memory` have at least `bytes`; where it had fewer, what it held is lost. Called by all
  // ranks of the node alike, with the same result. Errors: no_memory, system.
  virtual Status share(std::size_t bytes, NodeMemory& memory) = 0;

  // The largest value over all ranks of the communicator. Collective.
  virtual Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) = 0;
  // The same of codes: the worst one.
  Status agree(Code mine, Code& worst) {
    std::uint32_t largest = 0;
    CROSSRAIL_TRY(agree_on_largest(static_cast<std::uint32_t>(mine), largest));
    worst = static_cast<Code>(largest);
    return {};
  }

  // Where other ranks of the node can read_peer these bytes, until the next call of this: where they lie,
  // or a copy of memory that no other process can read (device drivers map such memory).
  // Errors: no_memory.
  virtual Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) = 0;

  // Copies `bytes` at `address` of another rank of the node into `to`, with one copy.
  virtual Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) = 0;
  // The other way: to where `address` is in the other rank's memory, which it has given without export_range.
  virtual Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) = 0;

  // A call begins. Its shape is what `check_health` compares with other nodes.
  virtual void begin_call(std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place) {
    (void)shape_hash;
    (void)block_bytes;
    (void)in_place;
  }
  // For waits that have lost patience: what ranks without a segment shared with ours say of this
  // call. Errors: mismatch; what they have reported.
  virtual Status check_health() { return {}; }
  // This rank's call has failed, or it has seen that another's has: ranks elsewhere that wait for it shall hear it.
  virtual void report_error(Code code) { (void)code; }
  // Whether not all ranks see one control block, so that `judge` and `end_call` here are those that hold.
  bool judges() const { return judges_; }
  // As ControlBlock's, for the ranks of all nodes.
  virtual Status judge() { return {}; }
  virtual bool end_call() { return true; }

  // Lets the host's own messages move: another rank may need them to reach its collective at all.
  virtual void progress() = 0;

  // False once the process of `rank`, on this node, is known to have ended.
  virtual bool alive(int rank) = 0;

 protected:
  Fiber* fiber_ = nullptr;
  bool judges_ = false;
};

}  // namespace crossrail
