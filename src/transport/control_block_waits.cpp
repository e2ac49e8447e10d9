// This part of ControlBlock says how ranks wait for each other, and what becomes of calls when they wait in vain.

#include "transport/control_block.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "transport/unlike_calls.h"

namespace crossrail {
namespace {

// A wait spins first, then yields its core, and sleeps if there are more ranks than cores. Otherwise a waiting rank serves others through MPI's
// progress (one-sided accesses, long messages) as fast as in native MPI.
constexpr int kPausesAProgress = 64;
constexpr std::int64_t kYieldNs = 20'000'000;
constexpr long kSleepNs = 50'000;
constexpr long kSettleNs = 200'000;       // After this time all ranks see what a rank has stored.
constexpr int kMostVerdictSleeps = 20'000;

constexpr int kCodeBits = 8;
std::uint64_t with_code(std::uint64_t number, Code code) { return number << kCodeBits | static_cast<std::uint64_t>(code); }
Code code_of(std::uint64_t word) { return static_cast<Code>(word & ((1u << kCodeBits) - 1)); }

// It contains the last call that had been begun when an error was met, and whether MPI gets that call. It is never 0.
constexpr std::uint64_t kGivenBack = 2;
std::uint64_t verdict_of(std::uint64_t last_call, bool given_back) { return last_call << 2 | (given_back ? kGivenBack : 0) | 1; }

// It holds the calls that a rank has left between two of its own, and the number of the first of these, of which 40 bits suffice.
constexpr int kLeftBits = 24;
constexpr std::uint64_t kMostLeft = (std::uint64_t{1} << kLeftBits) - 1;

void nap(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

}  // namespace

std::int64_t ControlBlock::now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

trace::Number ControlBlock::trace_wait(int peer) const {
  return trace::begin({"wait", trace::Kind::wait, 0, rank_of(peer), fiber_ == nullptr ? 0 : fiber_->traced});
}

void ControlBlock::break_up(Code code, Met met) {
  std::uint64_t none = 0;
  if (!broken().compare_exchange_strong(none, with_code(call_, code))) return;
  met_ = met;
  // A rank publishes that it begins or ends a call, and then looks for an error
  // without a fence between. So the others may not yet have seen what it has stored.
  nap(kSettleNs);
  verdict().store(find_verdict(met), std::memory_order_release);
}

std::uint64_t ControlBlock::find_verdict(Met met) {
  std::uint64_t last = call_;
  for (int peer = 0; peer < node_size(); ++peer) {
    for (const CallDescriptor& one : lines(peer).descriptor) last = std::max(last, one.call.load(std::memory_order_acquire));
  }
  bool given_back = met != Met::here || last > call_;
  for (int peer = 0; peer < node_size(); ++peer) {
    const CallDescriptor& one = lines(peer).descriptor[last & 1];
    if (one.call.load(std::memory_order_acquire) != last || one.native.load(std::memory_order_acquire) == last) continue;
    const bool in_place = one.in_place.load(std::memory_order_acquire) != 0;
    given_back = given_back && !in_place && one.ended.load(std::memory_order_acquire) != last;
  }
  return verdict_of(last, given_back);
}

// The rank that should write the verdict may have ended before. Then no call is given back.
std::uint64_t ControlBlock::await_verdict() {
  for (int sleeps = 0; sleeps < kMostVerdictSleeps; ++sleeps) {
    const std::uint64_t found = verdict().load(std::memory_order_acquire);
    if (found != 0) return found;
    nap(kSleepNs);
  }
  return ~std::uint64_t{kGivenBack};
}

Status ControlBlock::judge() {
  const std::uint64_t error = broken().load(std::memory_order_acquire);
  if (error == 0) return {};
  const std::uint64_t found = await_verdict();
  const std::uint64_t last_call = found >> 2;
  if (call_ > last_call || (call_ == last_call && (found & kGivenBack) != 0)) {
    return failed(Code::given_back, "another rank met an error in the previous call");
  }
  return failed(code_of(error), "another rank met an error on this communicator");
}

void ControlBlock::relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

Status ControlBlock::pause(int peer, Waited& waited) {
  if (++waited.pauses % kPausesAProgress != 0) {
    if (placement_.oversubscribed) {
      sched_yield();
    } else {
      relax();
    }
    return {};
  }
  links_.progress();
  const std::int64_t now = now_ns();
  if (waited.began_ns == 0) waited.began_ns = waited.looked_ns = now;
  const std::int64_t duration = now - waited.began_ns;
  if (duration > waited.spin_ns) waited.pauses = kPausesAProgress - 2;  // The rank then spins little between two looks.
  if (duration > kYieldNs && placement_.oversubscribed) {
    nap(kSleepNs);
  } else if (duration > waited.spin_ns) {
    sched_yield();
  }
  const std::int64_t patience_ns = static_cast<std::int64_t>(placement_.patience_ms) * 1'000'000;
  if (now - waited.looked_ns < patience_ns / 2) return {};
  waited.looked_ns = now;
  return diagnose(peer, waited);
}

// Returns whether a suspended wait has taken so long that something may be wrong.
bool ControlBlock::impatient(Waited& waited) const {
  if (++waited.pauses % kPausesAProgress != 0) return false;
  const std::int64_t now = now_ns();
  if (waited.looked_ns == 0) waited.looked_ns = now;
  if (now - waited.looked_ns < static_cast<std::int64_t>(placement_.patience_ms) * 500'000) return false;
  waited.looked_ns = now;
  return true;
}

// No rank counts before its first call, because ranks open the communicator at different times.
void ControlBlock::say_left(std::uint64_t calls) {
  if (call_ == placement_.epochs_before) return;
  left_ = std::min(calls, kMostLeft);
  my_lines().seldom.left.store(call_ << kLeftBits | left_, std::memory_order_release);
}

// Returns whether the peer has begun a native call between the call before and the
// present one that this rank has not begun. In a correct program there is none.
bool ControlBlock::has_left(int peer) {
  if (call_ <= placement_.epochs_before + 1) return false;
  const std::uint64_t its = lines(peer).seldom.left.load(std::memory_order_acquire);
  return its >> kLeftBits == (call_ - 1) << kLeftBits >> kLeftBits && (its & kMostLeft) > left_before_;
}

// Reports what is certain about one peer. `its_call` becomes the latest call that it was seen to begin.
Status ControlBlock::check_peer(int peer, std::uint64_t& its_call) {
  CROSSRAIL_TRY(judge());
  const bool has_left_ours = has_left(peer);
  const CallDescriptor& next = lines(peer).descriptor[(call_ + 1) & 1];
  const std::uint64_t later = next.call.load(std::memory_order_acquire);
  const CallDescriptor& descriptor = lines(peer).descriptor[call_ & 1];
  its_call = descriptor.call.load(std::memory_order_acquire);
  const std::uint64_t its_shape = descriptor.shape.load(std::memory_order_acquire);
  const std::uint64_t its_bytes = descriptor.bytes.load(std::memory_order_acquire);
  if (descriptor.call.load(std::memory_order_relaxed) != its_call) return {};  // It was just being written.
  const bool same_call = its_call == call_;
  its_call = std::max(its_call, later);
  if (has_left_ours && its_call < call_) {
    break_up(Code::mismatch, Met::native);
    return operation_on_one(call_, rank_of(peer), rank_of(node_rank()));
  }
  if (!same_call || its_shape == shape_hash_) return {};
  break_up(Code::mismatch, descriptor.native.load(std::memory_order_acquire) == call_ ? Met::native : Met::here);
  const std::uint64_t own_bytes = my_lines().descriptor[call_ & 1].bytes.load(std::memory_order_relaxed);
  return unlike_calls(call_, {rank_of(node_rank()), own_bytes}, {rank_of(peer), its_bytes});
}

Status ControlBlock::check_health() {
  for (int step = 1; step < node_size(); ++step) {
    std::uint64_t its_call = 0;
    CROSSRAIL_TRY(check_peer((node_rank() + step) % node_size(), its_call));
  }
  return {};
}

Status ControlBlock::ahead(int peer, std::uint64_t its_call) const {
  return failure(Code::mismatch, "rank %d is in call %llu, rank %d still waits for it in call %llu", rank_of(peer),
                 static_cast<unsigned long long>(its_call), rank_of(node_rank()), static_cast<unsigned long long>(call_));
}

Status ControlBlock::check_awaited(int rank) {
  for (int peer = 0; peer < node_size(); ++peer) {
    if (rank_of(peer) != rank) continue;
    std::uint64_t its_call = 0;
    CROSSRAIL_TRY(check_peer(peer, its_call));
    if (its_call > call_) return ahead(peer, its_call);
  }
  return {};
}

// Is called after half the patience without an answer, and again after each further half.
Status ControlBlock::diagnose(int peer, Waited& waited) {
  std::uint64_t its_call = 0;
  CROSSRAIL_TRY(check_peer(peer, its_call));
  CROSSRAIL_TRY(links_.check_health());
  const bool ended = !links_.alive(rank_of(peer));
  if (its_call <= call_ && !ended) return {};  // The peer is late.
  // A peer that is ahead, or has ended, may have flagged us before. Therefore the flag is looked at once more.
  if (!waited.suspected) {
    waited.suspected = in_doubt_ = true;
    waited.looked_ns = 1;
    return {};
  }
  if (ended) {
    break_up(Code::peer_lost);
    return failure(Code::peer_lost, "rank %d has ended while rank %d waits for it in call %llu", rank_of(peer),
                   rank_of(node_rank()), static_cast<unsigned long long>(call_));
  }
  break_up(Code::mismatch);
  return ahead(peer, its_call);
}

Status ControlBlock::agree_on_largest(std::uint32_t mine, std::uint32_t& largest) {
  constexpr int kValueBits = 32;
  const std::uint32_t round = static_cast<std::uint32_t>(++agreement_);
  raise_flag(my_lines().seldom.agreed[round & 1], std::uint64_t{round} << kValueBits | mine);
  largest = mine;
  for (int step = 1; step < node_size(); ++step) {
    const int peer = (node_rank() + step) % node_size();
    const Word& word = lines(peer).seldom.agreed[round & 1];
    CROSSRAIL_TRY(await(peer, [&] { return word.load(std::memory_order_acquire) >> kValueBits == round; }));
    largest = std::max(largest, static_cast<std::uint32_t>(word.load(std::memory_order_relaxed)));
  }
  return {};
}

}  // namespace crossrail
