#include "collectives/node_streams.h"

#include <algorithm>
#include <array>

namespace crossrail {

struct NodeStreams::Lines {
  alignas(kCacheLineBytes) Word put;    // The sender counts the chunks so far.
  alignas(kCacheLineBytes) Word taken;  // The receiver counts them.
};

namespace {

constexpr std::size_t kMostChunkBytes = 32 * 1024;
constexpr std::size_t kRing = 4;
constexpr std::uint64_t kAsked = ~std::uint64_t{0};  // It replaces the number of chunks taken.

Status read_part(Links& links, int rank, const Part& to, std::uint64_t address) {
  if (to.layout == nullptr) return links.read_peer(rank, to.base + to.begin, address, to.bytes);
  std::array<std::byte, 16 * 1024> row;  // The buffer is small because the program's thread may have little stack.
  for (std::size_t at = 0; at < to.bytes; at += row.size()) {
    const std::size_t part = std::min(row.size(), to.bytes - at);
    CROSSRAIL_TRY(links.read_peer(rank, row.data(), address + at, part));
    to.put(row.data(), at, part);
  }
  return {};
}

}  // namespace

std::size_t NodeStreams::share_bytes(const ControlBlockLayout& layout) {
  return layout.bulk_bytes / static_cast<std::size_t>(layout.node_size) / kCacheLineBytes * kCacheLineBytes;
}

Status NodeStreams::plan(const Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  share_bytes_ = share_bytes(layout);
  if (share_bytes_ < sizeof(Lines) + 2 * kCacheLineBytes) return failed(Code::no_memory, "the node's segment has no room for chunks");
  const std::size_t ring_bytes = share_bytes_ - sizeof(Lines);
  chunk_bytes_ = std::clamp(ring_bytes / kRing / kCacheLineBytes * kCacheLineBytes, kCacheLineBytes, kMostChunkBytes);
  ring_ = ring_bytes / chunk_bytes_;
  out_.resize(static_cast<std::size_t>(layout.node_size));
  in_.resize(static_cast<std::size_t>(layout.node_size));
  active_.resize(static_cast<std::size_t>(layout.node_size));
  offers_.resize(static_cast<std::size_t>(layout.node_size));
  offered_.resize(static_cast<std::size_t>(layout.node_size));
  return {};
}

void NodeStreams::begin(ControlBlock& control, int half, Sides sides) {
  control_ = &control;
  half_ = half;
  in_place_ = sides == Sides::in_place;
  for (const int peer : active()) out_[static_cast<std::size_t>(peer)] = in_[static_cast<std::size_t>(peer)] = {};
  active_count_ = offered_count_ = 0;
}

NodeStreams::Lines& NodeStreams::lines_of(int owner, int peer) const {
  return *reinterpret_cast<Lines*>(control_->bulk(half_, owner) + static_cast<std::size_t>(peer) * share_bytes_);
}

std::byte* NodeStreams::chunk(int owner, int peer, std::uint64_t number) const {
  return reinterpret_cast<std::byte*>(&lines_of(owner, peer)) + sizeof(Lines) + number % ring_ * chunk_bytes_;
}

std::size_t NodeStreams::length(const Way& way, std::uint64_t number) const {
  return std::min(chunk_bytes_, way.part.bytes - number * chunk_bytes_);
}

void NodeStreams::activate(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  if (in_[at].chunks == 0 && out_[at].chunks == 0) active_[active_count_++] = peer;
}

void NodeStreams::begin_lines(int peer) {
  Lines& lines = lines_of(control_->node_rank(), peer);
  lines.put.store(0, std::memory_order_relaxed);
  lines.taken.store(0, std::memory_order_relaxed);
}

void NodeStreams::send(Plan& plan, int peer, const Part& part) {
  if (part.bytes == 0) return;
  activate(peer);
  out_[static_cast<std::size_t>(peer)] = {part, chunks_in(part.bytes)};
  begin_lines(peer);
  (void)push(plan, peer);
}

void NodeStreams::offer(int peer, const Part& part) {
  if (part.bytes == 0) return;
  begin_lines(peer);
  offers_[static_cast<std::size_t>(peer)] = part;
  offered_[offered_count_++] = peer;
}

void NodeStreams::receive(int peer, const Part& part) {
  if (part.bytes == 0) return;
  activate(peer);
  in_[static_cast<std::size_t>(peer)] = {part, chunks_in(part.bytes)};
}

Status NodeStreams::fetch(Links& links, int peer, const Part& part, std::uint64_t address) {
  const Status read = read_part(links, control_->rank_of(peer), part, address);
  if (read.ok() || read.code == Code::peer_lost || part.bytes == 0) return read;
  receive(peer, part);
  raise_flag(lines_of(peer, control_->node_rank()).taken, kAsked);
  return {};
}

bool NodeStreams::asked(int peer) const {
  return out_[static_cast<std::size_t>(peer)].chunks == 0 && lines_of(control_->node_rank(), peer).taken.load(std::memory_order_acquire) == kAsked;
}

bool NodeStreams::any_asked() const {
  const std::span<const int> offered(offered_.data(), offered_count_);
  return std::any_of(offered.begin(), offered.end(), [this](int peer) { return asked(peer); });
}

void NodeStreams::send_what_is_asked(Plan& plan) {
  for (std::size_t i = 0; i < offered_count_; ++i) {
    if (asked(offered_[i])) send(plan, offered_[i], offers_[static_cast<std::size_t>(offered_[i])]);
  }
}

std::uint64_t NodeStreams::can_send(int peer) const {
  const Way& way = out_[static_cast<std::size_t>(peer)];
  if (way.done()) return way.chunks;
  return std::min(way.chunks, lines_of(control_->node_rank(), peer).taken.load(std::memory_order_acquire) + ring_);
}

std::uint64_t NodeStreams::can_receive(int peer) const {
  const Way& way = in_[static_cast<std::size_t>(peer)];
  if (way.done()) return way.chunks;
  const std::uint64_t there = std::min(way.chunks, lines_of(peer, control_->node_rank()).put.load(std::memory_order_acquire));
  if (!in_place_) return there;
  // What has not left yet would be overwritten.
  const Way& leaving = out_[static_cast<std::size_t>(peer)];
  return leaving.done() ? there : std::min(there, leaving.moved);
}

bool NodeStreams::push(Plan& plan, int peer) {
  Way& way = out_[static_cast<std::size_t>(peer)];
  const std::uint64_t end = can_send(peer), begin = way.moved;
  for (; way.moved < end; ++way.moved) {
    const std::size_t bytes = length(way, way.moved);
    way.part.take(chunk(control_->node_rank(), peer, way.moved), way.moved * chunk_bytes_, bytes);
    plan.last.staged_bytes += bytes;
    raise_flag(lines_of(control_->node_rank(), peer).put, way.moved + 1);
  }
  return way.moved > begin;
}

bool NodeStreams::pull(int peer) {
  Way& way = in_[static_cast<std::size_t>(peer)];
  const std::uint64_t end = can_receive(peer), begin = way.moved;
  for (; way.moved < end; ++way.moved) {
    way.part.put(chunk(peer, control_->node_rank(), way.moved), way.moved * chunk_bytes_, length(way, way.moved));
    raise_flag(lines_of(peer, control_->node_rank()).taken, way.moved + 1);
  }
  return way.moved > begin;
}

bool NodeStreams::any_can_move() const {
  for (const int peer : active()) {
    const auto at = static_cast<std::size_t>(peer);
    if (can_send(peer) > out_[at].moved || can_receive(peer) > in_[at].moved) return true;
  }
  return any_asked();
}

Status NodeStreams::finish(Plan& plan) {
  for (;;) {
    send_what_is_asked(plan);
    bool moved = false;
    int waited_for = -1;
    for (const int peer : active()) {
      moved = push(plan, peer) || moved;
      moved = pull(peer) || moved;
      if (!out_[static_cast<std::size_t>(peer)].done() || !in_[static_cast<std::size_t>(peer)].done()) waited_for = peer;
    }
    if (waited_for < 0) return {};
    if (!moved) CROSSRAIL_TRY(control_->await(waited_for, [this] { return any_can_move(); }));
  }
}

}  // namespace crossrail
