// NodeLinks are Links between ranks of one node that share a segment and nothing else. They carry no messages, so only algorithms on devices run over
// them.
#pragma once

#include <vector>

#include "topology/topology.h"
#include "transport/links.h"

namespace crossrail::nccl {

class NodeLinks final : public Links {
 public:
  explicit NodeLinks(const std::vector<Location>& locations) : locations_(locations) {}
  Status open_messages() override { return none(); }
  bool messages_open() const override { return false; }
  Status post_send(int, const void*, std::size_t, Channel) override { return none(); }
  Status post_recv(int, void*, std::size_t, Channel) override { return none(); }
  Status post_recv_up_to(int, const UpTo&, Channel) override { return none(); }
  void give_up(const std::size_t&) override {}
  Request last_posted() const override { return 0; }
  Status wait_for(Request) override { return {}; }
  Status wait_posted() override { return {}; }
  void cancel_posted() override {}
  Status share(std::size_t, NodeMemory&) override { return none(); }
  Status agree_on_largest(std::uint32_t, std::uint32_t&) override { return none(); }
  Status export_range(const void*, std::size_t, std::uint64_t&) override { return none(); }
  Status read_peer(int, void*, std::uint64_t, std::size_t) override { return none(); }
  Status write_peer(int, const void*, std::uint64_t, std::size_t) override { return none(); }
  void progress() override {}
  bool alive(int rank) override;

 private:
  static Status none() { return failed(Code::unsupported, "there are no messages between the ranks"); }

  std::vector<Location> locations_;  // They are indexed by rank.
};

}  // namespace crossrail::nccl
