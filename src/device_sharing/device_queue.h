// DeviceQueue takes what this rank asks of its device, for the calls of one slot. Work begins and ends apart:
//
//   DeviceWork work;
//   begin_exchange(blocks, engine, work);   // It is enqueued.
//   ...                                     // Messages may move meanwhile.
//   finish(work);                           // It waits: on a fiber, by suspending it.
//
// An exchange is the work of all ranks: behind its copies every device writes the number of the exchange to its rank's flag, and the
// exchange is done for a rank when it has seen all flags. Its kernels never wait for a peer. So nothing is left spinning when one dies, and
// several ranks may share a device. Kernels that do wait (packets, barriers of streams) look at this rank's abort flag.
//
// A device that several processes use works for one after the other, in slices of time, unless an MPS server stands between. So an exchange
// may be launched by one rank of each device, its launcher, for all that share it (docs/decisions/0026-one-launcher-a-device.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/trace.h"
#include "device_sharing/device_lines.h"
#include "device_sharing/device_times.h"
#include "device_sharing/process_mappings.h"
#include "transport/control_block.h"

namespace crossrail {

// This says whose work it is.
enum class Launch : std::uint8_t {
  own,           // It is this rank's, and nobody else's.
  every_rank,    // It is the work of all ranks, and each launches its own part.
  one_a_device,  // It is the work of all ranks. The launcher of each device launches the parts of those that share it.
};

// This is work that has begun.
struct DeviceWork {
  std::uint64_t number = 0;
  Launch launch = Launch::own;
  trace::Number traced = 0;
};

struct DeviceLimits {
  int multiprocessors;          // An exchange may use no more. 0 means any number.
  std::uint32_t persistent_us;  // A persistent kernel waits this long for the next exchange. 0 means that there is none.
  bool one_launcher;            // Ranks that share a device have one of them launch for all.
};

class DeviceQueue {
 public:
  DeviceQueue(const DeviceRegion& region, const DeviceLimits& limits, ControlBlock& control, Links& links)
      : region_(region), limits_(limits), control_(control), links_(links) {
    for (int step = 0; step < control.node_size(); ++step) ranks_.push_back((control.node_rank() + step) % control.node_size());
  }
  ~DeviceQueue() { close(); }
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  void use_module(const crossrail_device_module* module) { module_ = module; }
  const crossrail_device_module& module() const { return *module_; }
  // Opens the queue at first use, on the device of `near`, for good. It returns false if the queue cannot be had. Later calls try again,
  // less and less often.
  bool open(const crossrail_memory& near);
  // Closes it once all work is done. The memory that the work uses may then go.
  void close();
  crossrail_queue* handle() const { return queue_; }
  // Returns whether the queue is open and the program has not reset the device since.
  bool lives() const { return queue_ != nullptr && module_->sync(queue_, CROSSRAIL_SYNC_ALIVE) == nullptr; }
  OpenQueue opened() const { return {queue_, lives() ? facts_.place : 0}; }
  // Returns whether the open queue can do such work: a module may be without kernels, or know fewer kinds than this library. `asked` needs
  // no more than crossrail_device_module::supports asks for.
  template <class Asked>
  bool supports(crossrail_work_kind kind, Asked asked, std::size_t* buffer_bytes = nullptr) const {
    asked.work.kind = kind;
    return module_->supports(queue_, &asked.work, buffer_bytes) == nullptr;
  }
  bool has_kernels() const { return has_kernels_; }
  bool combines(const crossrail_reduction& reduction) const;
  // The first function says where the queue was opened. The second says whether its kernels may touch memory like this.
  const crossrail_memory& home() const { return home_; }
  bool reaches(const crossrail_memory& memory) const;
  // ----- These concern all ranks whose queues are open.
  // Returns the ranks of the node by device.
  const std::vector<Group>& devices();
  // Returns the node ranks whose parts this rank launches, itself among them. There are none where another one launches for it.
  const std::vector<int>& launched();
  // Says who launches for each node rank, before anybody asks. It also serves ranks that have no queue of their own.
  void launch_by(const std::vector<int>& launcher_of);
  // Returns how many ranks the launchers before this one launch for.
  int launched_before() { return launched().empty() ? 0 : before_; }
  // Returns whether some launcher launches for others.
  bool launches_for_others() { return launched().size() != 1 || launchers_.size() != ranks_.size(); }
  // Finds whether kernels can wait for peers: every rank's module has such kernels and they run at the same time. It may fail with
  // unsupported, on all ranks alike.
  Status may_wait_for_peers();
  // Does the same for calls in a stream's order. Ranks may share a device there if its kernels run at the same time, as with an MPS server.
  Status may_wait_in_streams();

  // Moves the blocks and then tells all ranks. Each rank has its own blocks and engine. A rank has none if another one launches for it.
  Status begin_exchange(const std::vector<crossrail_block>& blocks, crossrail_engine engine, DeviceWork& work, Launch launch = Launch::every_rank);
  // Does the same with elements, which go to where others lie, or does this rank's own work.
  Status begin_movements(std::span<const crossrail_movement> movements, DeviceWork& work, Launch launch);
  // Does the same with rows that are combined, one after the other (at most CROSSRAIL_MOST_OPERANDS each), or does this rank's own work.
  // What signals their end is filled in here.
  Status begin_combinations(std::span<crossrail_combination> combinations, DeviceWork& work, Launch launch);
  Status begin_combination(crossrail_combination combination, DeviceWork& work, Launch launch) {
    return begin_combinations({&combination, 1}, work, launch);
  }
  // These two are this rank's own work. The first copies blocks.
  Status begin_copies(const std::vector<crossrail_block>& blocks, DeviceWork& work);
  // The second sends packets. It is done when this rank has all of its blocks.
  Status begin_packets(crossrail_packets packets, DeviceWork& work);
  bool done(const DeviceWork& work) const;
  // Returns when the work is done. It may fail with peer_lost or system, and as ControlBlock::await does.
  Status finish(const DeviceWork& work);
  // Returns when this rank's launcher has done its part, for work of one launcher a device.
  Status finish_launched(const DeviceWork& work) { return finish_by(launcher_, work); }

  // ----- These work in the order of a stream of the program's. They tell no rank anything, and nobody waits.
  struct InStream {
    crossrail_engine engine;
    const crossrail_barrier *before, *after;
  };
  Status enqueue_exchange(void* stream, const std::vector<crossrail_block>& blocks, const InStream& how);
  Status enqueue_combination(void* stream, crossrail_combination combination);
  Status enqueue_packets(void* stream, crossrail_packets packets);
  Status enqueue_counted(void* stream, crossrail_counted_exchange exchange);
  Status enqueue_messages(void* stream, crossrail_messages messages);
  // Says what was wrong with the blocks of such exchanges since this was last asked. It is empty if nothing was.
  std::string wrong_so_far();
  const std::uint64_t* abort_flag() const { return &flags(control_.node_rank()).abort; }
  // Makes kernels that wait for peers give up. Any thread may call it.
  void abort_waits();
  // This rank has done its part of all work, and nobody need look after its process any more. Any thread may call these.
  void leave();
  bool has_left(int rank) const;
  // Waits until the device is done with all of the work.
  void drain();
  // Does what the module has left for an idle device. It is called at the end of a call, on the program's thread.
  void settle() const {
    if (queue_ != nullptr) (void)module_->sync(queue_, CROSSRAIL_SYNC_IDLE);
  }
  // Ends the work after an error. The device must be done with the program's memory when the call returns.
  void abandon() {
    if (queue_ != nullptr) abort_waits();
    drain();
  }

 private:
  DeviceFlags& flags(int rank) const { return region_.flags[rank]; }
  // Gives work its number. It returns false if another rank launches the work.
  bool number(DeviceWork& work, Launch launch);
  std::uint64_t* flag_of(Launch launch) const;
  const std::vector<int>& tellers(Launch launch) const { return launch == Launch::one_a_device ? launchers_ : ranks_; }
  Status finish_exchange(const DeviceWork& work);
  Status finish_by(int peer, const DeviceWork& work);
  void find_launchers();
  Status finish_own(std::uint64_t number);
  trace::Number trace_work(const char* name, std::uint64_t bytes) const;
  void trace_end(trace::Number last) const;
  template <class Pieces>
  trace::Number trace_pieces(const char* name, const Pieces& pieces) const;
  // All kinds of work are asked with a header. This one is for the queue's own stream, and the trace may show its times.
  crossrail_work header(crossrail_work_kind kind, const DeviceWork& work, DeviceTimes::Piece& timed) const {
    return {static_cast<std::uint32_t>(kind), limits_.multiprocessors, nullptr, flag_of(work.launch), work.number, nullptr, nullptr, timed.number()};
  }
  // This one is for the order of a stream.
  crossrail_work header(crossrail_work_kind kind, void* stream) {
    return {static_cast<std::uint32_t>(kind), most_multiprocessors_in_streams(), stream, nullptr, 0, nullptr, nullptr, nullptr};
  }
  Status has_kernels_that_wait() const;
  bool shares_a_device();
  int most_multiprocessors_in_streams();
  Status enqueue(const crossrail_work& work);
  template <class Ready>
  Status await(int peer, Ready ready);
  Status check_health();

  DeviceRegion region_;
  DeviceLimits limits_;
  ControlBlock& control_;
  Links& links_;
  const crossrail_device_module* module_ = nullptr;
  crossrail_queue* queue_ = nullptr;
  crossrail_queue_facts facts_{};
  bool has_kernels_ = false;
  crossrail_memory home_{};
  std::uint64_t wanted_ = 0;  // It was asked for this many times and was not there.
  std::uint64_t exchanges_ = 0;
  std::uint64_t local_ = 0;
  mutable DeviceTimes times_;  // They are the times of what is traced.
  mutable std::vector<trace::Number> traced_copies_;  // Nobody may wait for them. What follows them is waited for.
  GroupLists lists_;
  std::vector<Group> devices_;  // They are known once somebody has asked.
  std::vector<int> ranks_;      // They are the ranks of the node, from this one on.
  std::vector<int> launchers_, launched_;
  int before_ = 0;
  int launcher_ = 0;  // It is this rank's launcher.
};

}  // namespace crossrail
