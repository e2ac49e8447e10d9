#include "transport/node_board.h"

#include "transport/device_lines.h"

#include <algorithm>

#include <sched.h>
#include <time.h>

namespace crossrail {
namespace {

struct alignas(kCacheLineBytes) Header {
  std::uint64_t nonce;  // SharedMemory's
  Word broken;          // Code of an error
  Word broken_call;     // the call it was met in
  alignas(kCacheLineBytes) std::byte mailbox[NodeBoard::kMailboxBytes];
};

constexpr std::size_t kMostPacketBytes = 64 * 1024;  // payload and flags of one rank in one half
constexpr std::size_t kMostBulkBytes = 512 * 1024;

// Waiting: spin, then give the core away, then sleep.
constexpr int kFirstSpins = 64;
constexpr int kPausesAProgress = 64;
constexpr std::int64_t kSpinNs = 50'000;
constexpr std::int64_t kYieldNs = 20'000'000;
constexpr long kSleepNs = 50'000;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

std::size_t NodeBoardLayout::total_bytes() const {
  const std::size_t ranks = static_cast<std::size_t>(node_size);
  const std::size_t flags = round_up(sizeof(Header) + ranks * sizeof(RankLines), kPageBytes);
  return flags + 2 * round_up(ranks * packet_count * sizeof(Packet), kPageBytes) + 2 * ranks * bulk_bytes +
         device_lines_bytes(node_size);
}

NodeBoardLayout node_board_layout(int node_size, std::uint64_t scratch_bytes) {
  NodeBoardLayout layout;
  layout.node_size = node_size;
  const std::size_t one_rank = scratch_bytes / (2 * static_cast<std::size_t>(node_size));
  layout.packet_count = std::min(kMostPacketBytes, one_rank / 4) / sizeof(Packet);
  if (one_rank > layout.packet_count * sizeof(Packet) + 8 * kPageBytes) {
    const std::size_t left = one_rank - layout.packet_count * sizeof(Packet) - 8 * kPageBytes;
    layout.bulk_bytes = std::min(kMostBulkBytes, left) / kPageBytes * kPageBytes;
  }
  return layout;
}

NodeBoard::NodeBoard(const Placement& placement, Links& links) : placement_(placement), links_(links) {
  const auto& layout = placement_.layout;
  const std::size_t ranks = static_cast<std::size_t>(layout.node_size);
  std::byte* at = placement_.segment;
  lines_ = reinterpret_cast<RankLines*>(at + sizeof(Header));
  at += round_up(sizeof(Header) + ranks * sizeof(RankLines), kPageBytes);
  for (Packet*& half : packets_) {
    half = reinterpret_cast<Packet*>(at);
    at += round_up(ranks * layout.packet_count * sizeof(Packet), kPageBytes);
  }
  for (std::byte*& half : bulk_) {
    half = at;
    at += ranks * layout.bulk_bytes;
  }
  device_region_ = at;
  seen_.resize(ranks);
  first_spins_ = placement_.oversubscribed ? 1 : kFirstSpins;
}

Word& NodeBoard::broken() { return reinterpret_cast<Header*>(placement_.segment)->broken; }

std::byte* NodeBoard::mailbox() { return reinterpret_cast<Header*>(placement_.segment)->mailbox; }

Status NodeBoard::settle_with(int peer, std::uint64_t epoch) {
  const Word& word = lines(peer).entered.flag;
  return await(peer, [&] { return reached(word.load(std::memory_order_acquire), epoch - 1); });
}

Status NodeBoard::settle_for(std::uint64_t epoch, std::uint64_t plan, const std::vector<std::uint8_t>& readers) {
  std::uint64_t& user = half_user_[epoch & 1];
  if (user != plan) {
    CROSSRAIL_TRY(settle(epoch));
    user = plan;
    return {};
  }
  if (seen_all_ + 1 >= epoch) return {};
  for (int peer = 0; peer < node_size(); ++peer) {
    if (readers[peer] != 0 && seen_[peer] + 1 < epoch) CROSSRAIL_TRY(settle_with(peer, epoch));
  }
  return {};
}

Status NodeBoard::settle_with_all(std::uint64_t epoch) {
  for (int step = 1; step < node_size(); ++step) CROSSRAIL_TRY(settle_with((node_rank() + step) % node_size(), epoch));
  return {};
}

Status NodeBoard::await_marks(MarkLine RankLines::*line, std::uint64_t epoch) {
  for (int step = 1; step < node_size(); ++step) {
    CROSSRAIL_TRY(await_mark((node_rank() + step) % node_size(), line, epoch));
  }
  return {};
}

Status NodeBoard::meet() {
  const std::uint64_t epoch = next_epoch();
  mark(my_lines().met, epoch);
  CROSSRAIL_TRY(await_marks(&RankLines::met, epoch));
  seen_all(epoch);
  return {};
}

void NodeBoard::break_up(Code code) {
  if (broken_up()) return;
  reinterpret_cast<Header*>(placement_.segment)->broken_call.store(call_, std::memory_order_relaxed);
  broken().store(static_cast<std::uint64_t>(code), std::memory_order_release);
}

Status NodeBoard::broken_in_this_call() {
  const auto code = static_cast<Code>(broken().load(std::memory_order_acquire));
  if (code == Code::ok) return {};
  const std::uint64_t call = reinterpret_cast<Header*>(placement_.segment)->broken_call.load(std::memory_order_relaxed);
  return call_ > call ? Status{} : failed(code, "another rank met an error on this communicator");
}

void NodeBoard::relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

Status NodeBoard::pause(int peer, Patience& patience) {
  if (++patience.pauses % kPausesAProgress != 0) {
    if (placement_.oversubscribed) {
      sched_yield();
    } else {
      relax();
    }
    return {};
  }
  links_.progress();
  const std::int64_t now = now_ns();
  if (patience.began_ns == 0) patience.began_ns = patience.looked_ns = now;
  const std::int64_t waited = now - patience.began_ns;
  if (waited > kYieldNs) {
    const timespec nap{0, kSleepNs};
    nanosleep(&nap, nullptr);
    patience.pauses = kPausesAProgress - 2;  // little spinning between naps
  } else if (waited > kSpinNs) {
    sched_yield();
  }
  const std::int64_t patience_ns = static_cast<std::int64_t>(placement_.patience_ms) * 1'000'000;
  if (now - patience.looked_ns < patience_ns / 2) return {};
  patience.looked_ns = now;
  return diagnose(peer, patience);
}

// What can be said of one peer for certain. `its_call` is the call it was last seen to enter.
Status NodeBoard::look_at(int peer, std::uint64_t& its_call) {
  CROSSRAIL_TRY(broken_in_this_call());
  const Door& door = lines(peer).door[call_ & 1];
  its_call = door.call.load(std::memory_order_acquire);
  const std::uint64_t its_shape = door.shape.load(std::memory_order_acquire);
  const std::uint64_t its_bytes = door.bytes.load(std::memory_order_acquire);
  if (door.call.load(std::memory_order_relaxed) != its_call) return {};  // it was just being written
  if (its_call != call_ || its_shape == shape_hash_) return {};
  break_up(Code::mismatch);
  return failure(Code::mismatch, "call %llu: rank %d has blocks of %llu bytes, rank %d of %llu (or another collective)",
                 static_cast<unsigned long long>(call_), rank_of(node_rank()),
                 static_cast<unsigned long long>(my_lines().door[call_ & 1].bytes.load(std::memory_order_relaxed)),
                 rank_of(peer), static_cast<unsigned long long>(its_bytes));
}

Status NodeBoard::look() {
  for (int step = 1; step < node_size(); ++step) {
    std::uint64_t its_call = 0;
    CROSSRAIL_TRY(look_at((node_rank() + step) % node_size(), its_call));
  }
  return {};
}

// Called after half the patience without an answer, and as often again.
Status NodeBoard::diagnose(int peer, Patience& patience) {
  std::uint64_t its_call = 0;
  CROSSRAIL_TRY(look_at(peer, its_call));
  CROSSRAIL_TRY(links_.look());
  const bool ended = !links_.alive(rank_of(peer));
  if (its_call <= call_ && !ended) return {};  // late, no more
  // A peer that is ahead, or has ended, may have flagged us before; the flag is looked at once more.
  if (!patience.suspected) {
    patience.suspected = true;
    patience.looked_ns = 0;
    return {};
  }
  if (ended) {
    break_up(Code::peer_lost);
    return failure(Code::peer_lost, "rank %d has ended while rank %d waits for it in call %llu", rank_of(peer),
                   rank_of(node_rank()), static_cast<unsigned long long>(call_));
  }
  break_up(Code::mismatch);
  return failure(Code::mismatch, "rank %d is in call %llu, rank %d still waits for it in call %llu", rank_of(peer),
                 static_cast<unsigned long long>(its_call), rank_of(node_rank()), static_cast<unsigned long long>(call_));
}

Status NodeBoard::agree(Code mine, Code& worst) {
  constexpr int kCodeBits = 8;
  const std::uint64_t round = ++agreement_;
  my_lines().agreed.word[round & 1].store(round << kCodeBits | static_cast<std::uint64_t>(mine),
                                          std::memory_order_release);
  worst = mine;
  for (int step = 1; step < node_size(); ++step) {
    const int peer = (node_rank() + step) % node_size();
    const Word& word = lines(peer).agreed.word[round & 1];
    CROSSRAIL_TRY(await(peer, [&] { return word.load(std::memory_order_acquire) >> kCodeBits == round; }));
    const auto its = static_cast<Code>(word.load(std::memory_order_relaxed) & ((1u << kCodeBits) - 1));
    worst = std::max(worst, its);
  }
  return {};
}

}  // namespace crossrail
