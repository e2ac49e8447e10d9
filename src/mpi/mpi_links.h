// Links over MPI: messages on a private communicator, progress by probing the user's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "mpi/bulletin.h"
#include "mpi/flavour.h"
#include "topology/topology.h"
#include "transport/links.h"
#include "transport/node_board.h"
#include "transport/shared_memory.h"

namespace crossrail::mpi {

class MpiLinks final : public Links {
 public:
  struct Waiting {
    std::uint64_t patience_ms;
    bool oversubscribed;
  };
  MpiLinks(MPI_Comm user, int rank, std::vector<Location> locations, Waiting waiting);
  ~MpiLinks() override;
  // The node's board, where there is one: waits for messages look at it when they take too long.
  // `segment_kind` is how the node shares memory (SharedMemory::create).
  void watch(NodeBoard* board, std::string segment_kind) {
    board_ = board;
    segment_kind_ = std::move(segment_kind);
  }

  Status open_messages() override;
  Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) override;
  Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) override;
  using Links::post_recv;
  using Links::post_send;
  Ticket last_posted() const override { return requests_.size() - 1; }
  Status wait_for(Ticket ticket) override;
  Status wait_posted() override;
  Status share(std::size_t bytes, NodeMemory& memory) override;
  Status agree(Code mine, Code& worst) override;
  Status offer(const void* data, std::size_t bytes, std::uint64_t& address) override;
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override;
  void enter(std::uint64_t shape_hash, std::uint64_t block_bytes) override;
  Status look() override;
  void announce(Code code) override;
  void progress() override;
  bool alive(int rank) override;

 private:
  struct Posted {
    int expected_bytes;  // of a receive; -1 for a send, and for what has been looked at
    int peer;
    int part;            // of a message that is longer than MPI's counts
  };
  struct Span {
    std::size_t first, end;  // of requests_
  };
  // Tests until these requests are complete, looking around whenever patience runs out.
  Status wait_requests(Span span);
  // What keeps the posted messages from completing. Errors: mismatch, peer_lost, what others say.
  Status look_around();
  bool awaits(int peer) const;
  Status check_sizes(Span span);
  Status finish(Span span);
  void give_up();

  MPI_Comm user_;
  MPI_Comm private_;  // no tag of the user's can match on it; null until messages are needed
  int rank_;
  std::vector<Location> locations_;
  Waiting waiting_;
  std::uint64_t call_ = 0;
  int call_tag_ = 0;
  NodeBoard* board_ = nullptr;
  std::string segment_kind_;
  std::unique_ptr<SharedMemory> node_memory_;
  std::unique_ptr<Bulletin> bulletin_;
  Room offered_;
  int agreement_[2] = {};  // of a collective that may outlive its call, after an error
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Posted> posted_;
};

}  // namespace crossrail::mpi
