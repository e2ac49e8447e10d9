// Adapter is a network adapter of a simulated node. It sends and receives one message after the other, at its own pace, and keeps the state of
// some queue pairs in a cache.
//
// A reliable connection (RC) is a queue pair at each end. One that is not in the cache has to be read by PCIe, which holds the adapter up (OHIO paper,
// section II and figure 8). Unreliable datagrams (UD) need one queue pair a process, which stays in the cache. A context of a dynamically connected
// transport (DC) takes time when its peer changes.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "simulated_world/machine.h"

namespace crossrail::simulated_world {

// The entry that was used least recently makes room.
class LeastRecentlyUsed {
 public:
  explicit LeastRecentlyUsed(std::size_t entries) : most_(entries) {}
  // Returns whether it was there. It is there from then on.
  bool use(std::uint64_t entry);

 private:
  std::size_t most_;
  std::list<std::uint64_t> order_;  // The last used comes first.
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

class Adapter {
 public:
  explicit Adapter(const Machine& machine);

  // One end of a connection: the process here and the one elsewhere.
  struct Connection {
    int here, there;
  };
  // Sends a message that is ready at `at`. Returns when its last byte has left.
  Time send(const Connection& connection, std::size_t bytes, Time at);
  // Receives one whose last byte comes at `at`. Returns when it is there.
  Time receive(const Connection& connection, std::size_t bytes, Time at);
  std::uint64_t missed() const { return missed_; }

 private:
  Time service(const Connection& connection, std::size_t bytes);
  Time held_up(const Connection& connection);

  const Machine& machine_;
  Time sends_until_ = 0, receives_until_ = 0;
  LeastRecentlyUsed queue_pairs_;
  std::unordered_map<int, LeastRecentlyUsed> contexts_;  // They are the DC contexts of every process.
  std::uint64_t missed_ = 0;
};

}  // namespace crossrail::simulated_world
