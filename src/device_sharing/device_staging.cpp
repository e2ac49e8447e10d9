#include "device_sharing/device_staging.h"

#include <algorithm>
#include <bit>

namespace crossrail {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
constexpr std::size_t kChunkUnit = 256;  // Chunks are whole multiples of it, so that copies stay aligned.

}  // namespace

bool DeviceStaging::enough(const Piece& piece) const { return piece.bytes >= static_cast<std::size_t>(limits_.ranks) * kChunkUnit; }

bool DeviceStaging::reserve(MappedSide side, std::size_t block_bytes) {
  Piece& piece = pieces_[side == MappedSide::send ? 0 : 1];
  const crossrail_device_module& module = queue_.module();
  const std::size_t bytes = block_bytes * static_cast<std::size_t>(limits_.ranks);
  const auto most = static_cast<std::size_t>(limits_.most_bytes);
  piece.idle_calls = 0;
  if (piece.bytes >= std::min(bytes, most)) return enough(piece);
  // There may be less memory: half of what was asked for will do, in more rounds.
  std::size_t wanted = std::min(std::bit_ceil(std::max(bytes, kLeastBytes)), most);
  for (; wanted > piece.bytes && wanted >= static_cast<std::size_t>(limits_.ranks) * kChunkUnit; wanted /= 2) {
    void* memory = nullptr;
    if (module.alloc(&queue_.home(), wanted, &memory) != nullptr) continue;
    release(module, piece);
    piece.memory = static_cast<std::byte*>(memory);
    piece.bytes = wanted;
    module.describe(memory, wanted, &piece.facts);
    break;
  }
  return enough(piece);
}

std::size_t DeviceStaging::chunk(MappedSide side) const {
  return piece(side).bytes / static_cast<std::size_t>(limits_.ranks) / kChunkUnit * kChunkUnit;
}

void DeviceStaging::release(const crossrail_device_module& module, Piece& piece) {
  if (piece.memory != nullptr) (void)module.free(piece.memory);
  piece = Piece{};
}

void DeviceStaging::not_needed(MappedSide side) {
  constexpr int kMany = 64;
  Piece& piece = pieces_[side == MappedSide::send ? 0 : 1];
  if (piece.memory != nullptr && ++piece.idle_calls == kMany) release(queue_.module(), piece);
}

void DeviceStaging::release() {
  for (Piece& piece : pieces_) {
    if (piece.memory != nullptr) release(queue_.module(), piece);
  }
}

}  // namespace crossrail
