#include "simulated_world/checked_buffers.h"

#include <cstring>

namespace crossrail::simulated_world {
namespace {

constexpr int kPoison = 0xEE;

std::uint64_t word(std::uint64_t call, int source, int destination, std::size_t number) {
  return mix_word(mix_word(kHashSeed + call, static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint64_t>(destination)), number);
}

// What `source` sends to `destination`.
void fill_block(std::byte* block, std::size_t bytes, std::uint64_t call, int source, int destination) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t value = word(call, source, destination, at);
    std::memcpy(block + at, &value, std::min(sizeof value, bytes - at));
  }
}

bool is_block(const std::byte* block, std::size_t bytes, std::uint64_t call, int source, int destination) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t value = word(call, source, destination, at);
    if (std::memcmp(block + at, &value, std::min(sizeof value, bytes - at)) != 0) return false;
  }
  return true;
}

// An element of a reduction. Sums wrap, so that every order of adding is right.
std::uint32_t element(std::uint64_t call, int source, std::size_t number) { return static_cast<std::uint32_t>(word(call, source, 0, number)); }

bool is_alltoall(Collective collective) { return collective == Collective::alltoall || collective == Collective::alltoallv; }

}  // namespace

Shape CallKind::shape() const {
  Shape shape{collective, Memory::host, false, needs_data() ? 0 : bytes};
  if (row_of(collective).reduces) shape.reduction = {Operation::sum, Element::int32};
  return shape;
}

std::size_t CheckedBuffers::send_blocks() const {
  const bool many = is_alltoall(kind_.collective) || kind_.collective == Collective::reduce_scatter_block;
  return many ? static_cast<std::size_t>(ranks_) : 1;
}

std::size_t CheckedBuffers::recv_blocks() const {
  const bool many = is_alltoall(kind_.collective) || kind_.collective == Collective::allgather;
  return many ? static_cast<std::size_t>(ranks_) : 1;
}

CheckedBuffers::CheckedBuffers(const CallKind& kind, int ranks, bool moved) : kind_(kind), ranks_(ranks), moved_(moved) {
  const std::size_t rows = moved ? static_cast<std::size_t>(ranks) : 1;
  send_ = ReservedMemory(rows * send_blocks() * kind.bytes);
  recv_ = ReservedMemory(rows * recv_blocks() * kind.bytes);
  if (!kind.needs_data()) return;
  for (int rank = 0; rank < ranks; ++rank) blocks_.push_back({static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * kind.bytes), kind.bytes});
}

bool CheckedBuffers::usable() const { return send_.data() != nullptr && recv_.data() != nullptr; }

std::size_t CheckedBuffers::bytes_of_all(const CallKind& kind, int ranks) {
  const CheckedBuffers one(kind, ranks, false);
  return static_cast<std::size_t>(ranks) * (one.send_blocks() + one.recv_blocks()) * kind.bytes;
}

Buffers CheckedBuffers::of(int rank) const {
  const std::size_t row = moved_ ? static_cast<std::size_t>(rank) : 0;
  Buffers buffers;
  buffers.send = send_.data() + row * send_blocks() * kind_.bytes;
  buffers.recv = recv_.data() + row * recv_blocks() * kind_.bytes;
  if (!blocks_.empty()) buffers.out = buffers.in = blocks_.data();
  return buffers;
}

void CheckedBuffers::fill(int rank, std::uint64_t call) {
  if (!moved_) return;
  const Buffers buffers = of(rank);
  auto* const send = const_cast<std::byte*>(buffers.send);
  std::memset(buffers.recv, kPoison, recv_blocks() * kind_.bytes);
  if (row_of(kind_.collective).reduces) {
    for (std::size_t number = 0; number < send_blocks() * kind_.bytes / sizeof(std::uint32_t); ++number) {
      const std::uint32_t value = element(call, rank, number);
      std::memcpy(send + number * sizeof value, &value, sizeof value);
    }
    return;
  }
  for (std::size_t block = 0; block < send_blocks(); ++block) fill_block(send + block * kind_.bytes, kind_.bytes, call, rank, static_cast<int>(block));
}

bool CheckedBuffers::right(int rank, std::uint64_t call) const {
  const Buffers buffers = of(rank);
  if (row_of(kind_.collective).reduces) {
    const std::size_t count = kind_.bytes / sizeof(std::uint32_t);
    const std::size_t first = kind_.collective == Collective::reduce_scatter_block ? static_cast<std::size_t>(rank) * count : 0;
    for (std::size_t number = 0; number < count; ++number) {
      std::uint32_t sum = 0, found = 0;
      for (int source = 0; source < ranks_; ++source) sum += element(call, source, first + number);
      std::memcpy(&found, buffers.recv + number * sizeof found, sizeof found);
      if (found != sum) return false;
    }
    return true;
  }
  const int destination = kind_.collective == Collective::allgather ? 0 : rank;
  for (int source = 0; source < ranks_; ++source) {
    if (!is_block(buffers.recv + static_cast<std::size_t>(source) * kind_.bytes, kind_.bytes, call, source, destination)) return false;
  }
  return true;
}

}  // namespace crossrail::simulated_world
