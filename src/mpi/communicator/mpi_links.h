// MpiLinks implements Links over MPI for one slot. Messages travel on a private communicator (message_space.h), with tags that encode the slot, the
// call and the kind of message. Waiting makes progress on the user's communicator.
//
// A rank that has waited too long for a rank on another node asks it by an error notice, and that rank answers if it has gone on. Under ULFM it also
// asks MPI for revoked communicators and failed processes (library/fault_tolerance.h). It believes late that a sender has gone on, and only if the
// sender itself says so, because a message from it may still arrive (docs/decisions/0019-a-message-may-still-come.md).
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
    std::size_t slot = 0;  // It is less than kMostSlots.
    std::uint64_t patience_ms = 500;
    bool oversubscribed = false;
    bool messages = true;  // If false, the calls advance where MPI may not be called.
    std::uint64_t calls_before = 0;  // Earlier slots of this number have had so many calls.
  };
  MpiLinks(std::shared_ptr<MpiPeers> peers, const Placement& placement)
      : peers_(std::move(peers)), placement_(placement), call_{.number = placement.calls_before} {}
  ~MpiLinks() override;
  // `control` is the slot's control block if there is one; a wait that takes too long looks at it.
  void watch(ControlBlock* control) { control_ = control; }
  // The peers outlive the user's communicator while calls are pending on it.
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
    int expected_bytes;  // For a receive; it is -1 for a send and for a receive that has been checked.
    int peer;
    int part;            // A message that is longer than MPI's counts has several parts.
    trace::Number traced;
    std::size_t* came = nullptr;  // It is set for a receive whose message may be shorter.
  };
  struct Span {
    std::size_t first = 0, end = 0;  // Both are indices into requests_.
  };
  struct Message {
    int peer;
    int tag;
    bool receive;
    std::size_t* came = nullptr;
  };
  // Notices and agreements use the other tags (mpi_links.cpp).
  static int tag_of(Channel channel) { return channel == Channel::blocks ? 0 : 2; }
  int tag_of_call() const;  // It is added to that of the communicator and that of the channel.
  Status post(const Message& message, std::byte* data, std::size_t bytes);
  // One round of an agreement. Errors: those of post and of wait_posted.
  Status exchange_agreement(int to, int from);
  // Tests these requests until they are complete, and looks for trouble whenever patience runs out.
  Status wait_requests(Span span);
  Status wait_suspended(Span span);
  Status test(Span span, bool& done);
  // Doubt is the state of one wait.
  struct Doubt {
    std::int64_t looked_ns = 0;
    bool certain = false;  // There is an error, though it may concern another call.
    int suspicions = 0;
  };
  // Waits call it now and then to find out why the posted messages can no longer
  // complete. Errors: mismatch, peer_lost, and those that other ranks report.
  Status look_around(Doubt& doubt);
  // Reports a peer whose message apparently cannot come any more because it is in a later call or has ended.
  Status check_awaited();
  bool awaits(int peer) const;
  // Checks the sizes of receives that have ended.
  Status check_sizes(Span span);
  Status check_size(std::size_t one);
  void give_up(const std::size_t& came, std::size_t first);
  // Handles those receives of pieces that have ended before the others; after a shorter piece, the later ones stay empty.
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
  ControlBlock* control_ = nullptr;
  std::unique_ptr<SharedMemory> node_memory_;
  GrowableBuffer exported_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Posted> posted_;
  bool pieces_ = false;  // Some posted receives take one block each.
  Span waited_for_{};
  std::vector<int> awaited_;  // The elements are ranks.
  // What an agreement sends and receives. It is a member because messages of a failed agreement may still be under way after the call.
  struct {
    std::uint32_t out, in;
  } agreement_{};
};

}  // namespace crossrail::mpi
