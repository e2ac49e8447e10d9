// SimulatedLinks are Links between the ranks of a simulated world.
#pragma once

#include <deque>
#include <vector>

#include "simulated_world/network.h"
#include "transport/links.h"
#include "virtual_world/reserved_memory.h"

namespace crossrail::simulated_world {

using virtual_world::ReservedMemory;

// The ranks of a world share this.
struct Common {
  const Machine& machine;
  Scheduler& scheduler;
  Network& network;
  bool moves_data = true;
  int size = 0;
  std::vector<int> node_sizes;
  struct NodeShare {
    ReservedMemory memory;
    Scheduler::Meeting meeting;
  };
  std::vector<NodeShare> node_memory;  // There is one for every node.
  Scheduler::Meeting agreement;
  std::uint32_t largest = 0, agreed = 0;

  Time agreement_time() const;
};

class SimulatedLinks final : public Links, public Mailbox {
 public:
  SimulatedLinks(Common& common, const Place& place, int rank);

  Status open_messages() override {
    open_ = true;
    return {};
  }
  bool messages_open() const override { return open_; }
  Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) override;
  Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) override;
  Status post_recv_up_to(int rank, const UpTo& what, Channel channel) override;
  using Links::post_recv;
  using Links::post_send;
  void give_up(const std::size_t& came) override;
  Request last_posted() const override { return posted_.size() - 1; }
  Status wait_for(Request request) override { return wait_until_done(request, request + 1); }
  Status wait_posted() override;
  void cancel_posted() override;
  Status share(std::size_t bytes, NodeMemory& memory) override;
  Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) override;
  Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) override;
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override;
  Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) override;
  void progress() override {}
  bool alive(int) override { return true; }

  void comes(Message& message) override;

 private:
  struct Posted {
    enum Kind : std::uint8_t { sent, receive, done } kind;
    int peer;
    std::size_t queue;
    void* data;
    std::size_t bytes;
    std::size_t* came;
  };
  Status post_receive(const Posted& made);
  Status wait_until_done(Request first, Request end);
  void attend_to_all();
  void attend(Message& message);
  void deliver(Message& message, std::size_t request);
  void match(Message& message, std::size_t request);
  void finish(std::size_t request);
  void end_pieces(const std::size_t* came);
  Time& clock() { return common_.scheduler.clock(rank_); }

  Common& common_;
  Place place_;
  int rank_;
  bool open_ = false;
  std::vector<Posted> posted_;
  std::vector<std::size_t> open_receives_;  // They are requests, in the order posted.
  std::deque<Message*> come_;               // These have come while the rank was at work.
  std::vector<Message*> unexpected_;        // No receive for these is posted yet.
  Request first_awaited_ = 0, end_awaited_ = 0;
  std::size_t left_ = 0;  // So many of the awaited ones are not done.
};

}  // namespace crossrail::simulated_world
