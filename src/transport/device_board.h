// DeviceBoard: calls on device memory among the ranks of a node.
//
// In every call a rank hangs out, in the node's segment, where its two sides lie (DeviceDoor), and
// waits for the doors of all others: so the choice between host and device memory is the same on every
// rank, whatever the program passes where. Device memory is mapped by peers (DeviceWindows); what
// cannot be, goes through device memory of ours (staged).
//
// An exchange: every rank enqueues its copies; behind them its device writes the number of the
// exchange to the rank's flag; a rank is done when it has seen all flags. No kernel of an exchange ever
// waits for a peer: nothing is left spinning when one dies, and several ranks may share a device.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "transport/device_lines.h"
#include "transport/device_windows.h"
#include "transport/node_board.h"

namespace crossrail {

enum class Window : std::uint8_t { none, send, recv };

// The sides of one call, as the program has them. A side of which `ours` is true (it has gaps, or what
// is sent in place) is staged whatever its memory.
struct DeviceSide {
  const void* address = nullptr;
  std::size_t bytes = 0;  // from `address` on, that the call may touch
  bool ours = false;
};
struct DeviceCall {
  DeviceSide send, recv;
  std::size_t block_bytes = 0;
};

class DeviceBoard {
 public:
  struct Placement {
    std::byte* region;  // device_lines_bytes of the node's segment
    std::uint64_t scratch_bytes;   // most device memory of ours, on each side
    int multiprocessors;           // most that an exchange may use; 0: any number
    std::uint32_t resident_us;     // 0: no resident kernels
    std::uint64_t ipc_threshold, memcpy_threshold;  // instead of a tuning row's; 0: the row's
  };
  DeviceBoard(const Placement& placement, NodeBoard& board, Links& links);
  ~DeviceBoard();
  DeviceBoard(const DeviceBoard&) = delete;
  DeviceBoard& operator=(const DeviceBoard&) = delete;

  // A call begins. Every rank of the node asks at the same calls whether all have a module by now.
  enum class When : std::uint8_t { seldom, now };
  Status look_for_modules(When when = When::seldom);
  bool active() const { return active_; }
  const Placement& placement() const { return placement_; }

  // Hangs out where the sides of the call lie and waits for all others. `wanted` is the side that the
  // call's plan maps.
  Status meet(const DeviceCall& call, Window wanted, bool& on_devices);

  // ----- of the call that has met
  // Maps what is offered on this side, where it has not been. Code::unsupported, on all ranks alike,
  // where some rank cannot: the call must be carried otherwise.
  Status open_windows(Window window);
  bool staged(Window side) const { return mine(side).place == Place::staged; }
  // Whether some rank's side is.
  bool any_staged(Window side) const;
  // Bytes of a block that fit one round, of all ranks the least.
  std::size_t chunk() const { return chunk_; }
  // Device memory of ours, where this side is staged: block i lies at i chunks.
  std::byte* scratch(Window side) const { return scratch_[side == Window::send ? 0 : 1].memory; }
  // Block `number` of another rank's side, from byte `from` on, where this rank has it mapped.
  struct BlockPlace {
    int peer;
    Window side;
    std::size_t number;
    std::size_t from;
  };
  std::byte* block(const BlockPlace& which) const;

  // ----- work of the device
  // An exchange of all ranks: the blocks are moved, then all are told. Returns when all flags are there.
  Status exchange(const std::vector<crossrail_block>& blocks, crossrail_engine engine);
  // Work on this rank's memory alone. These return at once, in order; `await_local` waits for the last
  // copy_local and what was before it.
  Status copy_local(const std::vector<crossrail_block>& blocks);
  Status pack(crossrail_packing packing);
  Status await_local();
  // Packets through the inboxes; returns when this rank has all of its blocks.
  Status packets(crossrail_packets packets);
  // Memory that the ranks of the node map for good, one for calls that return when they are done and one
  // for those on streams, which may run meanwhile. All ranks come with the same `bytes`, between the
  // meeting of a call and its work.
  enum class Use : std::uint8_t { calls, streams };
  Status open_inboxes(Use use, std::size_t bytes);
  // True if two ranks use the same device.
  bool share_a_device() const;
  const crossrail_device_module& module() const { return *module_; }

  // ----- work in the order of a stream of the program's: nothing is waited for here, peers in the kernels.
  Status packets_on(void* stream, crossrail_packets packets);
  // Every rank's work before it in its stream is done.
  Status meet_on(void* stream);
  Status exchange_on(void* stream, const std::vector<crossrail_block>& blocks, crossrail_engine engine);
  // This rank's window will be used as long as the program keeps its memory.
  void keep_window() { windows_->pin(mine(Window::recv)); }
  // From now on a thread looks after the peers: kernels that wait for one that has died give up.
  Status watch_peers();

  // After an error: the device must be done with the program's memory when the call returns.
  void abandon();

 private:
  struct Scratch {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    crossrail_memory facts{};
  };
  const OfferedSide& mine(Window side) const { return offered(board_.node_rank(), side); }
  const OfferedSide& offered(int rank, Window side) const {
    return doors_[static_cast<std::size_t>(rank)][side == Window::send ? 0 : 1];
  }
  DeviceFlags& flags(int rank) const { return flags_[rank]; }
  bool open_queue(const crossrail_memory& near);
  void close();
  OfferedSide place(const DeviceSide& side, Scratch& scratch, bool offered);
  OfferedSide stage(Scratch& scratch);
  Status map_windows(Window window);
  bool reserve(Scratch& scratch, std::size_t bytes);
  void hang_out(std::uint64_t flag, const OfferedSide& send, const OfferedSide& recv);
  Status read_doors(std::uint64_t flag);
  void watch(std::stop_token stop);
  void fill_in(Use use, crossrail_packets& packets);
  template <class Ready>
  Status await_device(int peer, Ready ready);

  NodeBoard& board_;
  Links& links_;
  Placement placement_;
  DeviceFlags* flags_;
  DeviceLines* lines_;
  const crossrail_device_module* module_ = nullptr;
  bool active_ = false;
  bool given_up_ = false;  // not even memory of ours can be mapped: not asked again, on any rank
  std::uint64_t calls_ = 0;
  std::uint64_t meetings_ = 0;
  std::unique_ptr<DeviceWindows> windows_;

  crossrail_queue* queue_ = nullptr;
  crossrail_memory home_{};  // the memory beside which the queue was opened
  bool unusable_ = false;    // no queue could be opened
  Scratch scratch_[2];       // of the send side, of the receive side
  struct Inboxes {
    Scratch own;
    std::vector<void*> all;  // once they are mapped
  };
  Inboxes inboxes_[2];  // by use
  std::jthread watcher_;
  std::atomic<bool> lost_{false};  // what it has seen

  // Of the present call.
  std::vector<std::array<OfferedSide, 2>> doors_;
  std::vector<std::uint64_t> freed_;  // by rank: as its last door says
  std::size_t block_bytes_ = 0;
  std::size_t chunk_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t local_ = 0;
};

}  // namespace crossrail
