// ThreadLinks are Links between ranks that are threads of one process.
//
// Short messages are copied when they are sent (eager), long ones when they are received (rendezvous), so that both kinds of timing that
// MPI has come up. A rank that has left its function counts as a process that has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "transport/control_block.h"
#include "transport/links.h"

namespace crossrail::virtual_world {

struct LinkOptions {
  std::size_t eager_bytes = 512;                     // A message up to this length is copied when sent.
  std::function<Status(int rank)> open_messages;     // It lets opening fail on some ranks. If it is null, opening never fails.
  std::function<bool(int rank)> may_read;            // It says whether read_peer and write_peer work on a rank. If it is null, they do.
  std::function<bool(int rank)> readable;            // It says whether peers can read and write a rank's buffers. If it is null, they can.
  std::function<Status(int node)> share;             // It lets sharing memory fail on a node. If it is null, sharing never fails.
  // Blocking waits of a rank do this meanwhile, as the progress of an MPI library would. If it is null, they do nothing.
  std::function<void(int rank)> meanwhile;
  // It says where processors find what lies in device memory. If it is null, the links do not take such memory.
  std::function<void*(const void* data)> touchable;
  std::function<void(int rank, const void* data)> sending;  // A message is about to leave a rank. If it is null, nothing is asked.
  std::chrono::milliseconds hang_after{30'000};      // A wait that takes longer is a deadlock.
};

// It counts what one rank has asked of its links so far.
struct LinkCounters {
  std::atomic<std::uint64_t> sends{0};
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> agreements{0};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<std::uint64_t> progress_calls{0};
};

// The threads of one communicator share this.
class Exchange {
 public:
  // `slots` are those of every rank's communicator.
  Exchange(const std::vector<int>& node_of, LinkOptions options, int slots = 1);

  // The rank has left. All that wait for it from now on are told so.
  void leave(int rank);
  bool left(int rank) const { return ranks_[rank]->left.load(); }
  const LinkCounters& counters(int rank) const { return ranks_[rank]->counters; }

 private:
  friend class ThreadLinks;

  // This is memory of malloc, because the network is not the library, of which tests count every operator new.
  template <class T>
  struct Uncounted {
    using value_type = T;
    Uncounted() = default;
    template <class Other>
    Uncounted(const Uncounted<Other>&) {}
    T* allocate(std::size_t count) {
      if (void* memory = std::malloc(count * sizeof(T))) return static_cast<T*>(memory);
      throw std::bad_alloc();
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    bool operator==(const Uncounted&) const { return true; }
  };
  struct Message {
    const void* data = nullptr;  // If it is null, the data are in `copy`.
    bool withdrawn = false;      // Its sender has met an error, and the data are no more.
    std::size_t bytes = 0;
    std::uint64_t call = 0;
    std::vector<std::byte, Uncounted<std::byte>> copy;
  };
  // It holds messages of one rank to one other on one channel, in order. Slots are reused with their memory.
  struct Queue {
    std::vector<Message, Uncounted<Message>> slots = std::vector<Message, Uncounted<Message>>(4);
    std::size_t first = 0;
    std::size_t count = 0;
    Message& push();
    Message& front() { return slots[first]; }
    void pop();
  };
  // The ranks of a node share this memory, and the next one while they gather to take it over.
  struct Node {
    std::mutex mutex;
    std::condition_variable changed;
    int size = 0;
    int arrived = 0;
    std::uint64_t round = 0;
    std::vector<std::byte> memory;
    Status outcome;
  };
  struct Rank {
    std::mutex mutex;  // It guards all that follows but the atomics.
    std::condition_variable changed;
    std::uint64_t events = 0;  // It counts whatever may let a wait of this rank go on.
    std::vector<std::vector<Queue>> from;  // It is indexed by rank, then by slot and Links::Channel.
    std::vector<std::uint64_t> taken;  // It counts long messages of this rank that were received, and is indexed by place_of.
    std::atomic<bool> left{false};
    std::atomic<bool> open{false};  // It may send messages.
    LinkCounters counters;
  };
  struct Agreement {
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::uint64_t round = 0;
    std::uint32_t largest = 0;
    std::uint32_t result = 0;
  };

  struct Address {
    int from, to;
    std::size_t queue;
    bool operator==(const Address&) const = default;
  };
  std::size_t place_of(int peer, std::size_t queue) const { return queues_ * static_cast<std::size_t>(peer) + queue; }
  Queue& queue(const Address& address) { return ranks_[address.to]->from[address.from][address.queue]; }
  struct Sent {
    const void* data;
    std::size_t bytes;
    std::uint64_t call;  // It is the call of its slot. The message is received in the same one.
  };
  void send(const Address& address, const Sent& sent);
  struct Receive {
    Address address;
    void* data;
    std::size_t bytes;
    bool may_be_shorter;
    std::uint64_t call;
  };
  // Leaves `done` false if it has not come yet. It may fail with mismatch, broken or peer_lost.
  Status receive(const Receive& wanted, std::size_t& came, bool& done);
  // Tells in `done` whether the receiver has taken `count` long messages. It may fail with peer_lost.
  Status taken(const Address& address, std::uint64_t count, bool& done);
  // Withdraws the messages of one slot.
  void withdraw(int from, int slot);
  std::uint64_t events(int rank);
  // Waits until there are other events than `known`, for a while.
  void wait_event(int rank, std::uint64_t known);
  std::chrono::microseconds while_of_waiting() const;
  void meanwhile(int rank) const;
  void notify(Rank& rank);
  // These are for the ranks of a node, or for all, each with the same `slot`. `fiber` is as in Links.
  struct Meeting {
    int rank, slot;
    Fiber* fiber;
    ControlBlock* control;  // It is null where there is none.
  };
  Status share(const Meeting& meeting, std::size_t bytes, NodeMemory& memory);
  Status agree_on_largest(const Meeting& meeting, std::uint32_t mine, std::uint32_t& largest);
  // Waits until the round is over. It may fail with peer_lost, broken or system (deadlock).
  template <class Place>
  Status await_round(Place& place, std::uint64_t round, const Meeting& meeting);
  Status break_up(Code code, const char* what);
  bool any_left() const;

  LinkOptions options_;
  std::vector<int> node_of_;
  std::size_t slots_;
  std::size_t queues_;  // There are this many between two ranks, one way.
  std::vector<std::unique_ptr<Node>> nodes_;  // They are indexed by node and slot.
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Agreement>> agreements_;  // They are indexed by slot.
  std::atomic<bool> broken_{false};
};

class ThreadLinks final : public Links {
 public:
  ThreadLinks(Exchange& exchange, int rank, int slot = 0);
  // `control` is the slot's control block, where there is one. Waits for messages look at it when they take too long.
  void watch(ControlBlock* control) { control_ = control; }

  Status open_messages() override;
  bool take_device_memory() const override { return exchange_.options_.touchable != nullptr; }
  bool messages_open() const override { return exchange_.ranks_[rank_]->open; }
  Status post_send(int rank, const void* data, std::size_t bytes, Channel channel) override;
  Status post_recv(int rank, void* data, std::size_t bytes, Channel channel) override;
  using Links::post_recv;
  using Links::post_send;
  Status post_recv_up_to(int rank, const UpTo& what, Channel channel) override;
  void give_up(const std::size_t& came) override;
  Request last_posted() const override { return posted_.size() - 1; }
  Status wait_for(Request request) override;
  Status wait_posted() override;
  void cancel_posted() override;
  Status share(std::size_t bytes, NodeMemory& memory) override { return exchange_.share(meeting(), bytes, memory); }
  Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest) override;
  Status export_range(const void* data, std::size_t bytes, std::uint64_t& address) override;
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override;
  Status write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) override;
  void begin_call(std::uint64_t, std::uint64_t, bool) override { ++call_; }
  void progress() override;
  bool alive(int rank) override { return !exchange_.left(rank); }

 private:
  struct Posted {
    enum Kind { sent, receive, done } kind;
    Exchange::Address address;
    void* data;
    std::size_t bytes;
    std::uint64_t number;  // It is the number of a long message that was sent. 0 means that it was copied.
    std::size_t* came = nullptr;  // It belongs to a receive that may come shorter.
    bool shorter = false;         // It did come shorter.
  };
  // Completes whatever it can without waiting. Like MPI's progress, it does so for all that is posted.
  Status sweep();
  Status try_receive(std::size_t at);
  Status wait_until_done(Request first, Request end);
  Status wait_event(std::uint64_t known, Status& trouble);
  Status check_awaited();
  bool may_be_given_up(std::size_t at) const;
  Exchange::Meeting meeting() { return {rank_, slot_, fiber_, control_}; }
  LinkCounters& counters() { return exchange_.ranks_[rank_]->counters; }
  std::size_t queue_of(Channel channel) const { return 2 * static_cast<std::size_t>(slot_) + static_cast<std::size_t>(channel); }

  Exchange& exchange_;
  int rank_;
  int slot_;
  std::uint64_t call_ = 0;
  ControlBlock* control_ = nullptr;
  std::vector<Posted> posted_;
  Request first_awaited_ = 0, end_awaited_ = 0;  // They are requests of posted_.
  Status failed_;  // It was met while making progress.
  std::vector<std::byte> exported_;  // Peers read this copy where they cannot read the user's memory.
  std::vector<std::uint64_t> long_sends_;  // They are indexed by place_of.
};

}  // namespace crossrail::virtual_world
