// HelperLinks wraps other Links and shares their long messages with helper
// processes: a rank and its first helper processes each move an equal stretch.
#pragma once

#include <memory>
#include <vector>

#include "transport/helper_processes.h"
#include "transport/links.h"

namespace crossrail {

// A HelperTeam is what all ranks of a communicator know of their helper processes.
struct HelperTeam {
  std::vector<std::int32_t> numbers;  // They are the numbers of every rank's helper processes in their jobs.
  int helpers = 0;                    // Every rank has at least so many.
  std::uint32_t tag = 0;              // It is the communicator's, taken with HelperProcesses::take_number.
  HelperTeam() = default;
  HelperTeam(const HelperTeam&) = delete;
  HelperTeam& operator=(const HelperTeam&) = delete;
  ~HelperTeam() { HelperProcesses::of_process().free_number(tag); }
};

class HelperLinks final : public Links {
 public:
  // Both arguments outlive it. `processes` counts the rank itself and its helper processes that take part. It is the same on every rank, because both
  // sides of a message divide it alike.
  HelperLinks(Links& own, const HelperTeam& team, int processes);
  ~HelperLinks() override;
  int processes() const { return processes_; }
  // Half a megabyte for each process is worth sharing. This was measured with
  // parts of an allreduce and pieces of an alltoall, with 2 to 16 processes.
  std::size_t worth_sharing() const { return static_cast<std::size_t>(processes_) * 512 * 1024; }

  std::uint64_t traced_call() const override { return own_.traced_call(); }
  Status open_messages() override { return own_.open_messages(); }
  bool messages_open() const override { return own_.messages_open(); }
  Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) override;
  Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) override;
  using Links::post_recv;
  using Links::post_send;
  Status post_recv_up_to(int rank, const UpTo& what, Channel channel) override;
  void give_up(const std::size_t& came) override;
  Request last_posted() const override { return messages_.size() - 1; }
  Status wait_for(Request request) override;
  Status wait_posted() override;
  void cancel_posted() override;

  Status share(std::size_t bytes, NodeMemory& memory) override { return own_.share(bytes, memory); }
  Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) override { return own_.agree_on_largest(mine, largest); }
  Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) override { return own_.export_range(data, bytes, address); }
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override { return own_.read_peer(rank, to, address, bytes); }
  Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) override { return own_.write_peer(rank, from, address, bytes); }
  Status check_health() override { return own_.check_health(); }
  void report_error(Code code) override { own_.report_error(code); }
  Status judge() override { return own_.judge(); }
  bool end_call() override { return own_.end_call(); }
  void progress() override { own_.progress(); }
  bool alive(int rank) override { return own_.alive(rank); }

 private:
  struct Message {
    Request own;
    bool receive;
    int rank;
    std::size_t first_stretch, stretches;  // They are the entries of stretches_ that helper processes move.
    bool waited = false;
    // It is set for a message that may be shorter; a message that is divided must have the length that its receiver expects.
    std::size_t* came = nullptr;
    std::size_t bytes = 0;
  };
  struct Stretch {
    std::uint64_t number;  // It is the command's number.
    std::byte* copied_to;  // What has arrived in memory of ours is copied there; if null, it is already where it belongs.
    const std::byte* from;
    std::size_t bytes;
    int helper;
  };
  struct Asked {
    int rank;
    std::byte* data;
    std::size_t bytes;
    bool receive;
  };
  // Returns the bytes of each stretch of a message except the last one; 0 means that the message is not shared.
  std::size_t stretch_bytes(std::size_t bytes) const;
  Status post(const Asked& asked, Channel channel);
  Status give(const Asked& stretch, int helper);
  // Lends memory that helper processes see, for data elsewhere, until all messages have been waited for.
  Status borrow(std::size_t bytes, std::byte*& memory);
  Status wait_for(Message& message);
  Status wait_for(const Stretch& stretch, const Message& message);
  void begin_anew();

  Links& own_;
  const HelperTeam& team_;
  int processes_;
  std::vector<Message> messages_;
  std::vector<Stretch> stretches_;
  std::vector<HelperProcesses::Pages> lent_;
  std::size_t lent_bytes_ = 0;  // It is the size of the last one.
};

}  // namespace crossrail
