// MpiLinks: Links over MPI, for one slot. Messages travel on a private communicator (message_space.h), with tags that tell the slot, the
// call and the kind of message. Waiting makes progress on the user's communicator.
//
// A rank that has waited too long for one on another node asks it by an error notice; that rank answers if it has gone on. Under ULFM it
// also asks the MPI library for revoked communicators and failed processes (library/fault_tolerance.h). That a sender has gone on is
// believed late, and only from the sender itself, because a message of its may still come
// (docs/decisions/0019-a-message-may-still-come.md).
#pragma once

#include <memory>
#include <vector>

#include "base/growable_buffer.h"
#include "base/trace.h"
#include "mpi/communicator/mpi_peers.h"
#include "transport/control_block.h"
#include "transport/links.h"
#include "transport/shared_memory.h"

namespace crossrail::mpi {

class MpiLinks final : public Links {
 public:
  struct Placement {
    std::size_t slot = 0;  // below kMostSlots
    std::uint64_t patience_ms = 500;
    bool oversubscribed = false;
    bool messages = true;  // false: its calls are moved where MPI may not be called
    std::uint64_t calls_before = 0;  // of earlier slots of this number
  };
  MpiLinks(std::shared_ptr<MpiPeers> peers, const Placement& placement)
      : peers_(std::move(peers)), placement_(placement), call_{.number = placement.calls_before} {}
  ~MpiLinks() override;
  // The slot's control block, where there is one: waits for messages look at it when they take too long.
  void watch(ControlBlock* control) { control_ = control; }
  // The user's communicator has been freed while calls are pending: the private one stays.
  const std::shared_ptr<MpiPeers>& peers() const { return peers_; }

  std::size_t slot_number() const override { return placement_.slot; }
  Status open_messages() override;
  bool messages_open() const override { return placement_.messages && peers_->messages_open(); }
  bool take_device_memory() const override;
  Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) override;
  Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) override;
  using Links::post_recv;
  using Links::post_send;
  Status post_recv_up_to(int rank, const UpTo& what, Channel channel) override;
  void give_up(const std::size_t& came) override;
  Request last_posted() const override { return requests_.size() - 1; }
  Status wait_for(Request request) override;
  Status wait_posted() override;
  void cancel_posted() override;
  Status share(std::size_t bytes, NodeMemory& memory) override;
  Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) override;
  Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) override;
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override;
  Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) override;
  void begin_call(std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place) override;
  Status check_health() override;
  void report_error(Code code) override;
  Status judge() override;
  bool end_call() override { return peers_->notices->end_call(placement_.slot); }
  void progress() override;
  bool alive(int rank) override { return peers_->alive(rank); }

 private:
  struct Posted {
    int expected_bytes;  // of a receive; -1 for a send, and for what has been looked at
    int peer;
    int part;            // of a message that is longer than MPI's counts
    trace::Number traced;
    std::size_t* came = nullptr;  // of a receive that may come shorter
  };
  struct Span {
    std::size_t first = 0, end = 0;  // of requests_
  };
  struct Message {
    int peer;
    int tag;
    bool receive;
    std::size_t* came = nullptr;
  };
  // Beside the notices', and that of agreements (mpi_links.cpp).
  static int tag_of(Channel channel) { return channel == Channel::blocks ? 0 : 2; }
  Status post(const Message& message, std::byte* data, std::size_t bytes);
  // Tests until these requests are complete, looking around whenever patience runs out.
  Status wait_requests(Span span);
  Status wait_suspended(Span span);
  Status test(Span span, bool& done);
  // Of one wait.
  struct Doubt {
    std::int64_t looked_ns = 0;
    bool certain = false;  // there is an error, though it may not be ours
    int suspicions = 0;
  };
  // For waits, now and then: what keeps the posted messages from completing, once they cannot any more. Errors:
  // mismatch, peer_lost, what others say.
  Status look_around(Doubt& doubt);
  // What looks as if no message can come: its sender is in a later call, or has ended.
  Status check_awaited();
  bool awaits(int peer) const;
  // Of receives that have ended.
  Status check_sizes(Span span);
  Status check_size(std::size_t one);
  void give_up(const std::size_t& came, std::size_t first);
  // Those of pieces that have ended before the others, which end with nothing where one was shorter.
  Status end_pieces(Span span);
  Status finish(Span span);
  void forget_posted();
  void reserve();
  void tell_call();
  trace::Number trace_message(const Message& message, std::size_t bytes) const;
  void trace_ends(Span span) const;

  std::shared_ptr<MpiPeers> peers_;
  Placement placement_;
  ErrorNotices::Call call_;
  int call_tag_ = 0;
  ControlBlock* control_ = nullptr;
  std::unique_ptr<SharedMemory> node_memory_;
  GrowableBuffer exported_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Posted> posted_;
  bool pieces_ = false;  // some receives that are posted are of one block
  Span waited_for_{};
  std::vector<int> awaited_;  // ranks
};

}  // namespace crossrail::mpi
