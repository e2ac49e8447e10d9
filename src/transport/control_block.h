// ControlBlock: the part of the node's segment that one slot of a communicator works with. Every rank of the node owns a few cache lines of
// flags and one region in each of two alternating halves.
//
//   header | lines of rank 0, 1, ... | packet half 0, 1 | bulk half 0, 1 | extension (device_sharing/)
//
// Halves and epochs. One epoch is one round in which every rank writes its region of half (epoch mod 2), flags it, and waits for the flag
// of every other rank. No rank can start epoch e+2 before all have flagged e+1, which means that they have finished reading e. So a call
// needs one wait for flags and no closing barrier. Where a rank does not hear from all others in a round (v-collectives with empty blocks),
// `wait_until_reusable` makes up for it before the memory is written again.
//
// Flags. A flag holds 48 bits of the epoch and 16 bits of the Shape's hash. Ranks that have called with different block sizes therefore do
// not take each other's bytes: they wait, then read each other's call descriptors and say in a sentence which ranks differ. Sequence
// counters are flags that only grow; collectives/sequence_counters.h says what they mean to algorithms.
//
// Long waits. A wait that takes longer than half of CROSSRAIL_PATIENCE looks whether the peer has ended, is in this call with another
// Shape, or has gone on to a later call. Reductions with operations of the program's own always go native, and each rank counts those that
// it makes between two calls (`leave_call`). If a peer has made more of them than this rank, the two disagree about the operation: the peer
// will not come, and this rank's call is handed to MPI as well.
//
// Errors. The rank that meets an error first breaks the slot up and writes the verdict, which all ranks of the node read: which calls end
// with the error and which are given back to MPI (`judge`). Where ranks are on several nodes, transport/verdict.h takes its place.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fiber.h"
#include "base/status.h"
#include "base/trace.h"
#include "topology/group.h"
#include "transport/control_block_layout.h"
#include "transport/links.h"
#include "transport/rank_lines.h"

namespace crossrail {

class ControlBlock {
 public:
  struct Placement {
    std::byte* segment;  // It is zero before its first use.
    ControlBlockLayout layout;
    Group node;  // It holds the ranks of this node.
    bool oversubscribed;
    std::uint64_t patience_ms;
    std::uint64_t epochs_before = 0;  // Only tests set it: the block starts as if there had been so many epochs and calls, the same on all ranks.
  };
  ControlBlock(const Placement& placement, Links& links);

  const Group& node() const { return placement_.node; }
  int node_rank() const { return placement_.node.index(); }
  int node_size() const { return placement_.layout.node_size; }
  int rank_of(int node_rank) const { return placement_.node[node_rank]; }
  const ControlBlockLayout& layout() const { return placement_.layout; }

  std::byte* extension() const { return extension_; }

  RankLines& lines(int node_rank) { return lines_[node_rank]; }
  RankLines& my_lines() { return lines_[node_rank()]; }
  // Packets of a half lie close together: there are `stride` packets for every rank.
  Packet* packets(int half, int node_rank, std::size_t stride) { return packets_[half] + static_cast<std::size_t>(node_rank) * stride; }
  std::byte* bulk(int half, int node_rank) { return bulk_[half] + static_cast<std::size_t>(node_rank) * placement_.layout.bulk_bytes; }

  // From now on, waits suspend this fiber; if it is null, they spin.
  void run_on(Fiber* fiber) { fiber_ = fiber; }
  // A wait looks so often before it suspends its fiber.
  void spin(int times) { spins_ = placement_.oversubscribed ? 0 : times; }

  // Begins a call and publishes its descriptor. It is called for every call on the slot, including native ones.
  void begin_call(std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place = false) {
    CallDescriptor& descriptor = my_lines().descriptor[++call_ & 1];
    descriptor.call.store(0, std::memory_order_relaxed);  // The call stays 0 until the descriptor is complete.
    descriptor.shape.store(shape_hash, std::memory_order_release);
    descriptor.bytes.store(block_bytes, std::memory_order_release);
    descriptor.in_place.store(in_place ? 1 : 0, std::memory_order_release);
    descriptor.call.store(call_, std::memory_order_release);
    shape_hash_ = shape_hash;
    left_before_ = std::exchange(left_, 0);
  }
  // This rank has received everything in the present call. Returns false if an error has been met meanwhile.
  bool end_call() {
    my_lines().descriptor[call_ & 1].ended.store(call_, std::memory_order_release);
    return !broken_up();
  }
  void go_native() { my_lines().descriptor[call_ & 1].native.store(call_, std::memory_order_release); }
  // Between two calls of the slot, this rank makes one that goes to MPI for a reason that MPI obliges all ranks to share. So all ranks make equally
  // many of them there. A rank that has made fewer waits in vain for this rank in the next call. `take_back` undoes it if MPI has refused the call.
  void leave_call() { say_left(left_ + 1); }
  void take_back() { say_left(left_ - (left_ > 0 ? 1 : 0)); }

  std::uint64_t next_epoch() {
    raise_flag(my_lines().entered.flag, ++epoch_ << kHashBits);
    return epoch_;
  }
  // Only tests call it, on all ranks between two calls: the block continues as if there had been so many more epochs.
  void skip_epochs(std::uint64_t count) { epoch_ += count; }
  // Waits, before this rank writes into a half in `epoch`, until no rank still reads what it wrote there two epochs ago. It costs nothing if this
  // rank has seen all others' flags in the epoch before.
  Status wait_until_reusable(std::uint64_t epoch) {
    half_user_[epoch & 1] = 0;
    return seen_all_ + 1 == epoch ? Status{} : wait_for_all_readers(epoch);
  }
  // Does the same for a plan (by its number) whose regions never move: if the same plan wrote there two epochs ago, only `readers` may still read it.
  Status wait_until_read(std::uint64_t epoch, std::uint64_t plan, const std::vector<std::uint8_t>& readers);
  // Is called instead if this rank writes nothing in `epoch`. If another plan writes next, this rank then waits for all ranks, because they may still
  // read what others have written for this plan in the same memory.
  void writes_nothing(std::uint64_t epoch, std::uint64_t plan) {
    if (half_user_[epoch & 1] != plan) half_user_[epoch & 1] = 0;
  }
  // This rank has seen the flags of all other ranks for `epoch`, or of one.
  void seen_all(std::uint64_t epoch) { seen_all_ = epoch; }
  void seen(int peer, std::uint64_t epoch) { seen_[peer] = epoch; }

  // These are the sequence counters: this rank has come to `epoch` of this call, and waits until `peer` has. If a peer has gone on to a later epoch,
  // perhaps of another call, it has been there. If it is at this epoch, its Shape must be ours.
  void post(int counter, std::uint64_t epoch) { post(my_lines().counter[counter], epoch); }
  Status wait(int peer, int counter, std::uint64_t epoch) { return wait(peer, lines(peer).counter[counter], epoch); }
  bool has_come(int peer, int counter, std::uint64_t epoch) {
    return epoch_of(lines(peer).counter[counter].flag.load(std::memory_order_acquire)) >= epoch;
  }
  Status wait_all(int counter, std::uint64_t epoch);
  // No rank leaves before all ranks of the node have come.
  Status barrier();

  // The node's first rank leaves a message of a few bytes here for the others, between agreements.
  static constexpr std::size_t kMailboxBytes = 2 * kCacheLineBytes;
  std::byte* mailbox();
  // Returns the flag of an epoch of the present call: 48 bits that never wrap (9 years
  // with an epoch every microsecond) and 16 bits that differ for different Shapes.
  static constexpr int kHashBits = 16;
  std::uint64_t flag(std::uint64_t epoch) const { return epoch << kHashBits | (shape_hash_ & ((1u << kHashBits) - 1)); }
  static std::uint64_t epoch_of(std::uint64_t flag) { return flag >> kHashBits; }

  // Returns when `ready()` is true, or reports which peer of the node keeps us waiting and why. For `spin_ns` it keeps its core, if there are enough
  // cores: a rank that gives its core away while another process wants it may get it back only a tick (4 ms) later.
  static constexpr std::int64_t kSpinNs = 50'000;
  template <class Ready>
  Status await(int peer, Ready ready, std::int64_t spin_ns = kSpinNs) {
    if constexpr (simulated_time::on) {
      simulated_time::await(rank_of(peer), [](void* condition) { return static_cast<bool>((*static_cast<Ready*>(condition))()); }, &ready);
      return {};
    }
    if (fiber_ != nullptr) return await_suspended(peer, ready);
    for (int spin = 0; spin <= first_spins_; ++spin) {
      if (ready()) return {};
      relax();
    }
    Waited waited{trace::Slice(trace::on() ? trace_wait(peer) : 0), spin_ns};
    in_doubt_ = false;
    while (!ready()) CROSSRAIL_TRY(pause(peer, waited));
    return {};
  }

  // It is true in the `ready` of a wait if that may be asked for the last time, since the peer is ahead or has ended.
  bool in_doubt() const { return in_doubt_; }

  // Looks for `ns` whether `ready()` is already true, before a wait that would suspend the call. Returns true if looking gains nothing.
  template <class Ready>
  bool look(std::int64_t ns, Ready ready) {
    if (fiber_ == nullptr || placement_.oversubscribed) return true;
    const std::int64_t until = now_ns() + ns;
    while (!ready()) {
      if (now_ns() > until) return false;
      relax();
    }
    return true;
  }

  // Other waits that have lost patience call it. It finds out whether a rank of the node has met an error or is in this call with another Shape.
  Status check_health();
  // For links that deliver on send (threads; not MPI): a rank of the node that has entered a later call has sent everything. It is an error only if
  // its messages are still missing when the caller looks once more.
  Status check_awaited(int rank);

  // Finds the largest value, or the worst code, over the ranks of the node.
  Status agree_on_largest(std::uint32_t mine, std::uint32_t& largest);
  Status agree(Code mine, Code& worst) {
    std::uint32_t largest = 0;
    CROSSRAIL_TRY(agree_on_largest(static_cast<std::uint32_t>(mine), largest));
    worst = static_cast<Code>(largest);
    return {};
  }

  // After an error the epochs can no longer be trusted. Tells all ranks of the node to stop using them.
  // The first rank to do so says in which call the error was met, and judges the calls after it. In the
  // case `native`, other ranks are in MPI with a call, and this rank knows what will become of it.
  enum class Met : std::uint8_t { here, on_another_slot, native };
  void break_up(Code code, Met met = Met::here);
  bool broken_up() { return broken().load(std::memory_order_relaxed) != 0; }
  // Returns how the error was met if this rank was the first, and on_another_slot otherwise.
  Met met() const { return met_; }
  // For a broken slot, decides what becomes of this rank's present call, the same on all ranks that are or will be in it. Code::given_back means that
  // MPI does the call. That holds for all calls that no rank had begun when the error was met. It also holds for the last call that was begun, unless
  // the error was met in it, some rank has already ended it, or its buffers cannot be sent from once more.
  Status judge();

 private:
  struct Waited {
    trace::Slice traced;
    std::int64_t spin_ns, began_ns = 0, looked_ns = 0;
    int pauses = 0;
    bool suspected = false;
  };
  // It is a separate function so that waits on the caller's stack stay small.
  template <class Ready>
  [[gnu::noinline, gnu::cold]] Status await_suspended(int peer, Ready& ready) {
    if (!Fiber::tested() && ready()) return {};
    fiber_->before_wait();
    for (int spin = 0; spin < spins_; ++spin) {
      if (ready()) return {};
      relax();
    }
    Waited waited{trace::Slice(trace::on() ? trace_wait(peer) : 0), kSpinNs};
    bool too_long = false;
    in_doubt_ = false;
    while (!ready()) {
      fiber_->wait_until([&] { return ready() || (too_long = impatient(waited)); });
      if (!too_long) return {};
      too_long = false;
      if (!ready()) CROSSRAIL_TRY(diagnose(peer, waited));
    }
    return {};
  }
  trace::Number trace_wait(int peer) const;
  static void relax();
  static std::int64_t now_ns();
  void post(SequenceCounter& mine, std::uint64_t epoch) { raise_flag(mine.flag, flag(epoch)); }
  Status wait(int peer, const SequenceCounter& its, std::uint64_t epoch) {
    const std::uint64_t wanted = flag(epoch);
    return await(peer, [&] {
      const std::uint64_t seen = its.flag.load(std::memory_order_acquire);
      return seen == wanted || epoch_of(seen) > epoch;
    });
  }
  Status wait_for_reader(int peer, std::uint64_t epoch);
  Status wait_for_all_readers(std::uint64_t epoch);
  Status pause(int peer, Waited& waited);
  bool impatient(Waited& waited) const;
  Status diagnose(int peer, Waited& waited);
  void say_left(std::uint64_t calls);
  bool has_left(int peer);
  Status check_peer(int peer, std::uint64_t& its_call);
  Status ahead(int peer, std::uint64_t its_call) const;
  Word& broken();
  Word& verdict();
  std::uint64_t find_verdict(Met met);
  std::uint64_t await_verdict();

  Placement placement_;
  Links& links_;
  Fiber* fiber_ = nullptr;
  int spins_ = 0;
  bool in_doubt_ = false;
  RankLines* lines_;
  Packet* packets_[2];
  std::byte* bulk_[2];
  std::byte* extension_;
  int first_spins_;
  std::uint64_t call_ = 0, epoch_ = 0, seen_all_ = 0;
  std::uint64_t left_ = 0, left_before_ = 0;  // They count the calls left since the present call began, and those between it and the call before.
  std::vector<std::uint64_t> seen_;  // The index is the node rank.
  std::uint64_t half_user_[2] = {};  // It is the number of the plan that wrote there last, or 0 if that is unknown.
  std::uint64_t agreement_ = 0, shape_hash_ = 0;
  Met met_ = Met::on_another_slot;
};

}  // namespace crossrail
