// Network moves the messages between the ranks of a simulated world: through the adapters of their nodes, or within a node as an MPI library does.
//
// Each message costs the processors of its sender and receiver time, a process sends no faster than its gap allows, and adapters and the wire
// add theirs (LogGP). Messages longer than the eager limit are announced first. The receiver then reads them from the sender's memory
// once it has a receive for them, and the sender learns when they have been read.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "simulated_world/adapter.h"
#include "simulated_world/machine.h"
#include "simulated_world/scheduler.h"

namespace crossrail::simulated_world {

// What the world tells its network of the place of a rank.
struct Place {
  int node = 0;
  int number = 0;  // It is the rank's number in its node.
};

class Network;

// Message is on its way, or has come and waits to be received.
struct Message final : Event {
  enum class Stage : std::uint8_t { arriving, being_fetched, fetched, acknowledged };
  void happen(Time at) override;

  Network* network = nullptr;
  int from = 0, to = 0;
  std::size_t queue = 0;  // Messages of two ranks match in order within a queue.
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool announced = false;  // It is longer than the eager limit.
  Stage stage = Stage::arriving;
  Time at = 0;             // It is there for the rank that has to attend to it.
  std::size_t sent_as = 0, received_as = 0;  // They are the numbers of the posted send and receive.
  std::vector<std::byte> copy;  // It has the data of an eager message if data are moved.
};

// Mailbox is a rank's end of the network: what comes for the rank goes there.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void comes(Message& message) = 0;
};

class Network {
 public:
  Network(const std::vector<Place>& places, int largest_node, const Machine& machine, Scheduler& scheduler);

  void attach(int rank, Mailbox& mailbox) { ends_[rank].mailbox = &mailbox; }
  bool same_node(int one, int other) const { return places_[one].node == places_[other].node; }
  bool is_eager(const Message& message) const { return same_node(message.from, message.to) || static_cast<double>(message.bytes) <= machine_.eager; }
  // Takes a message of the running rank, whose clock has been charged. It takes `data` over if the message is eager and `moved`.
  Message& take(const Message& made, bool moved);
  // The running rank, or one that waits, has a receive for an announced message since `at`.
  void fetch(Message& message, Time at);
  void release(Message& message) { free_.push_back(&message); }
  void happens(Message& message, Time at);

  // Returns the processor's time for a message at its sender or receiver.
  enum class Side : std::uint8_t { sender, receiver };
  Time work(const Message& message, Side side) const;
  std::uint64_t missed() const;
  std::uint64_t messages() const { return messages_; }

 private:
  struct End {
    Mailbox* mailbox = nullptr;
    Time sends_from = 0;            // The process may send its next message then.
    std::vector<bool> connected{};  // The ranks to which it has a reliable connection.
  };
  Adapter& adapter_of(int rank);
  void connect(int rank, int peer);
  void hand_over(Message& message, Mailbox* to, Time at);

  std::vector<Place> places_;
  int largest_node_;
  const Machine& machine_;
  Scheduler& scheduler_;
  std::vector<Adapter> adapters_;
  std::vector<std::size_t> connections_;  // They are counted for every adapter.
  std::vector<End> ends_;
  std::deque<Message> all_;
  std::vector<Message*> free_;
  std::uint64_t messages_ = 0;
};

}  // namespace crossrail::simulated_world
