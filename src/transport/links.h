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

// NodeMemory is memory that all ranks of a node see. A slot keeps it for whichever plan runs. It grows when a plan asks for more and never shrinks.
// Each rank may see it at another address.
struct NodeMemory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t user = 0;  // It is the number of the plan that ran last in it.
};

class Links {
 public:
  virtual ~Links() = default;

  // From now on, waits suspend this fiber; if it is null, they spin.
  void run_on(Fiber* fiber) { fiber_ = fiber; }
  Fiber* fiber() const { return fiber_; }
  // For the trace, returns the pending call that uses these links, or 0 for a blocking one.
  virtual std::uint64_t traced_call() const { return fiber_ == nullptr ? 0 : fiber_->traced; }
  // A communicator has no more slots.
  static constexpr std::size_t kMostSlots = 256;
  virtual std::size_t slot_number() const { return 0; }

  // An algorithm's plan() calls it before the first message. It is collective. Errors: unsupported if messages have not been opened yet and a fiber
  // runs, which may not wait for that.
  virtual Status open_messages() = 0;
  virtual bool messages_open() const = 0;
  // Returns whether messages may begin and end in device memory, as far as is known.
  virtual bool take_device_memory() const { return false; }

  // Messages are contiguous bytes. Between two ranks they match in the order posted,
  // within a channel. Buffers must live until the message has been waited for.
  enum class Channel : int { blocks, coalesced };  // Blocks go from one rank to another, coalesced ones from one node to another.
  virtual Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) = 0;
  virtual Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) = 0;
  Status post_send(int rank, const void* data, std::size_t bytes) { return post_send(rank, data, bytes, Channel::blocks); }
  Status post_recv(int rank, void* data, std::size_t bytes) { return post_recv(rank, data, bytes, Channel::blocks); }
  // An UpTo is a receive of a block, or of a piece of one, that may be shorter. What has arrived is added to `came` after the wait. The pieces of a
  // block share one `came`: once one is shorter than its receive, no further one comes, and those that are posted end with nothing.
  struct UpTo {
    void* data;
    std::size_t bytes;  // It is at most kMostPiece.
    std::size_t& came;
    bool more = false;  // More pieces follow.
  };
  static constexpr std::size_t kMostPiece = std::size_t{1} << 30;
  virtual Status post_recv_up_to(int rank, const UpTo& what, Channel channel) = 0;
  // Gives up what has been posted with this `came` and has not arrived, because it never will.
  virtual void give_up(const std::size_t& came) = 0;
  // It stands for what was posted last, and is valid until the next wait_posted.
  using Request = std::size_t;
  virtual Request last_posted() const = 0;
  virtual Status wait_for(Request request) = 0;
  // Completes everything that has been posted so far.
  virtual Status wait_posted() = 0;
  // Ends a call that has met an error: cancels or completes what it has posted, so that nothing more arrives in its buffers.
  virtual void cancel_posted() = 0;

  // Gives `memory` at least `bytes` bytes. If it had fewer, its content is lost. All
  // ranks of the node call it alike and get the same result. Errors: no_memory, system.
  virtual Status share(std::size_t bytes, NodeMemory& memory) = 0;

  // Finds the largest value over all ranks of the communicator. Collective.
  virtual Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) = 0;
  // Does the same with codes: finds the worst one.
  Status agree(Code mine, Code& worst) {
    std::uint32_t largest = 0;
    CROSSRAIL_TRY(agree_on_largest(static_cast<std::uint32_t>(mine), largest));
    worst = static_cast<Code>(largest);
    return {};
  }

  // Makes these bytes readable by read_peer for other ranks of the node, until the next call of this function. `address` is where they lie, or a copy
  // if no other process can read the memory (device drivers map such memory). Errors: no_memory.
  virtual Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) = 0;

  // Copies `bytes` bytes at `address` of another rank of the node to `to`, with one copy.
  virtual Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) = 0;
  // Copies in the other direction, to `address` in the other rank's memory, which that rank has published without export_range.
  virtual Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) = 0;

  // A call begins. `check_health` compares its Shape with those of other nodes.
  virtual void begin_call(std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place) {
    (void)shape_hash;
    (void)block_bytes;
    (void)in_place;
  }
  // Waits that have lost patience call it. It finds what ranks without a segment
  // shared with ours say of this call. Errors: mismatch; what they have reported.
  virtual Status check_health() { return {}; }
  // This rank's call has failed, or this rank has seen that another's has. Tells ranks elsewhere that wait for it.
  virtual void report_error(Code code) { (void)code; }
  // Returns whether not all ranks see one control block, so that `judge` and `end_call` of these links are valid instead of its own.
  bool judges() const { return judges_; }
  // They are like ControlBlock's, for the ranks of all nodes.
  virtual Status judge() { return {}; }
  virtual bool end_call() { return true; }

  // Lets MPI's own messages progress, because another rank may need them to reach its collective at all.
  virtual void progress() = 0;

  // Returns false once the process of `rank` on this node is known to have ended.
  virtual bool alive(int rank) = 0;

 protected:
  Fiber* fiber_ = nullptr;
  bool judges_ = false;
};

}  // namespace crossrail
