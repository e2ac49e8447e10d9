#include "transport/control_block.h"

#include <algorithm>

namespace crossrail {
namespace {

struct alignas(kCacheLineBytes) Header {
  std::uint64_t nonce;  // It belongs to SharedMemory.
  Word broken;          // After an error it holds the error's Code and the call in which it was met.
  Word verdict;         // After an error it says what becomes of calls.
  alignas(kCacheLineBytes) std::byte mailbox[ControlBlock::kMailboxBytes];
};

constexpr std::size_t kMostPacketBytes = 64 * 1024;  // It limits the payload and flags of one rank in one half.
constexpr std::size_t kBulkBytes = 512 * 1024;
constexpr std::size_t kBulkBytesARank = 4 * 1024;  // A node with many ranks gets so much for each.
constexpr std::size_t kRounding = 8 * kPageBytes;
constexpr std::uint64_t kScratchBytes = std::uint64_t{64} << 20;
constexpr int kFirstSpins = 64;

std::size_t most_bulk_bytes(int node_size) { return std::max(kBulkBytes, static_cast<std::size_t>(node_size) * kBulkBytesARank); }

}  // namespace

std::uint64_t useful_scratch_bytes(int node_size) {
  const std::uint64_t one_rank = kMostPacketBytes + most_bulk_bytes(node_size) + kRounding;
  return std::max(kScratchBytes, 2 * static_cast<std::uint64_t>(node_size) * one_rank);
}

std::size_t ControlBlockLayout::total_bytes() const {
  const std::size_t ranks = static_cast<std::size_t>(node_size);
  const std::size_t flags = round_up(sizeof(Header) + ranks * sizeof(RankLines), kPageBytes);
  return flags + 2 * round_up(ranks * packet_count * sizeof(Packet), kPageBytes) + 2 * ranks * bulk_bytes +
         round_up(extension_bytes, kPageBytes);
}

ControlBlockLayout control_block_layout(int node_size, std::uint64_t scratch_bytes, std::size_t extension_bytes) {
  ControlBlockLayout layout;
  layout.node_size = node_size;
  layout.extension_bytes = extension_bytes;
  const std::size_t one_rank = scratch_bytes / (2 * static_cast<std::size_t>(node_size));
  layout.packet_count = std::min(kMostPacketBytes, one_rank / 4) / sizeof(Packet);
  if (one_rank > layout.packet_count * sizeof(Packet) + kRounding) {
    const std::size_t left = one_rank - layout.packet_count * sizeof(Packet) - kRounding;
    layout.bulk_bytes = std::min(most_bulk_bytes(node_size), left) / kPageBytes * kPageBytes;
  }
  return layout;
}

ControlBlock::ControlBlock(const Placement& placement, Links& links)
    : placement_(placement),
      links_(links),
      call_(placement.epochs_before),
      epoch_(placement.epochs_before),
      seen_all_(placement.epochs_before),
      agreement_(placement.epochs_before) {
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
  extension_ = at;
  seen_.resize(ranks);
  first_spins_ = placement_.oversubscribed ? 1 : kFirstSpins;
}

Word& ControlBlock::broken() { return reinterpret_cast<Header*>(placement_.segment)->broken; }
Word& ControlBlock::verdict() { return reinterpret_cast<Header*>(placement_.segment)->verdict; }

std::byte* ControlBlock::mailbox() { return reinterpret_cast<Header*>(placement_.segment)->mailbox; }

Status ControlBlock::wait_for_reader(int peer, std::uint64_t epoch) {
  const Word& word = lines(peer).entered.flag;
  return await(peer, [&] { return epoch_of(word.load(std::memory_order_acquire)) >= epoch - 1; });
}

Status ControlBlock::wait_until_read(std::uint64_t epoch, std::uint64_t plan, const std::vector<std::uint8_t>& readers) {
  std::uint64_t& user = half_user_[epoch & 1];
  if (user != plan) {
    CROSSRAIL_TRY(wait_until_reusable(epoch));
    user = plan;
    return {};
  }
  if (seen_all_ + 1 >= epoch) return {};
  for (int peer = 0; peer < node_size(); ++peer) {
    if (readers[peer] != 0 && seen_[peer] + 1 < epoch) CROSSRAIL_TRY(wait_for_reader(peer, epoch));
  }
  return {};
}

Status ControlBlock::wait_for_all_readers(std::uint64_t epoch) {
  for (int step = 1; step < node_size(); ++step) CROSSRAIL_TRY(wait_for_reader((node_rank() + step) % node_size(), epoch));
  return {};
}

Status ControlBlock::wait_all(int counter, std::uint64_t epoch) {
  for (int step = 1; step < node_size(); ++step) {
    CROSSRAIL_TRY(wait((node_rank() + step) % node_size(), counter, epoch));
  }
  return {};
}

Status ControlBlock::barrier() {
  const std::uint64_t epoch = next_epoch();
  post(my_lines().barrier, epoch);
  for (int step = 1; step < node_size(); ++step) {
    const int peer = (node_rank() + step) % node_size();
    CROSSRAIL_TRY(wait(peer, lines(peer).barrier, epoch));
  }
  seen_all(epoch);
  return {};
}

}  // namespace crossrail
