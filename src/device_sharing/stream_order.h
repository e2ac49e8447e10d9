// StreamOrder carries calls in the order of a stream of the program's. They are enqueued and nobody waits for them, so ranks wait for each
// other in kernels, by barriers in the streams. All that counts rounds lies on the device, so that a captured graph can be replayed. A
// thread looks after the peers: when one has ended, kernels that wait for it are told to give up.
#pragma once

#include <atomic>
#include <span>
#include <stop_token>
#include <thread>

#include "device_sharing/receive_buffers.h"

namespace crossrail {

// A piece of work has a barrier of the ranks before it, after it, or both.
enum class Meet { before, after, both };

// These are messages between this rank and others.
struct Messages {
  std::span<const crossrail_message> sends, recvs;
};
// Says whether this rank wants that there are any. `unasked` is the answer of all ranks or of none.
enum class WantsMessages { unasked, no, yes };

class StreamOrder {
 public:
  StreamOrder(const ReceiveBuffers::Parts& parts, ControlBlock& control, Links& links)
      : queue_(parts.queue), control_(control), links_(links), buffers_(parts, control) {}
  ~StreamOrder() { stop_watching(); }
  StreamOrder(const StreamOrder&) = delete;

  // These are the longest blocks that travel in packets of each form. 0 stands for a form that the ranks do not use.
  struct Longest {
    std::size_t ll, ll128, chunks;
  };
  // Makes what all calls need, at the first one, by all ranks alike: later ones meet no other rank here. It may fail with no_memory or
  // unsupported, on all ranks alike, and is tried again at the next call. Receive buffers for LL128 packets and chunks may be missing afterwards.
  // There are messages if all ranks want them and have memory for them.
  Status open(const Longest& longest, WantsMessages messages = WantsMessages::unasked);
  bool is_open() const { return open_; }
  // Returns whether there are receive buffers for packets of that form. All ranks know it alike.
  bool takes(crossrail_packet_form form) const { return buffers_.is_open(form); }
  // Returns whether there can be messages. All ranks know it alike.
  bool takes_messages() const { return open_ && buffers_.takes_messages(); }
  // It may fail with peer_lost.
  Status check_peers() const;

  Status exchange(void* stream, const std::vector<crossrail_block>& blocks, crossrail_engine engine, Meet meet);
  Status combination(void* stream, crossrail_combination combination, Meet meet);
  Status packets(void* stream, crossrail_packets packets);
  // Moves every rank's blocks, between two barriers.
  Status counted(void* stream, crossrail_counted_exchange exchange);
  // All of them go on at the same time. Only the two ranks of a message know of it.
  Status messages(void* stream, const Messages& messages);
  // Stops the thread that looks after the peers.
  void stop_watching();

 private:
  void watch(const std::stop_token& stop);

  DeviceQueue& queue_;
  ControlBlock& control_;
  Links& links_;
  ReceiveBuffers buffers_;  // Calls that do not return before their end have others, because they may run meanwhile.
  bool open_ = false;
  std::atomic<bool> lost_{false};
  std::stop_source stop_;
  std::thread watcher_;
};

}  // namespace crossrail
