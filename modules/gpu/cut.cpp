// This says how blocks are cut into pieces: as many as there are groups of threads to take them.

#include <algorithm>

#include "queue.h"

namespace gpu {
namespace {

constexpr uint64_t kOnePassBytes = kernels::kWarpLanes * kernels::kUnitBytes;  // It is that of a warp.
constexpr uint64_t kSmallBytes = 32 << 10;  // It counts all blocks. One CTA moves them without meeting others at the end.
// These are worth another CTA, as far as CTAs fill the links. In long exchanges there is one more for every kLateCtaBytes beyond that.
constexpr uint64_t kCtaBytes = 8 << 10, kLongBytes = 48 << 20, kLateCtaBytes = 64 << 10;

struct Sizes {
  uint64_t total = 0, most = 0;
  bool equal = true;
};

Sizes sizes_of(const kernels::Blocks& list, const kernels::Block* blocks) {
  Sizes sizes;
  for (uint32_t i = 0; i < list.count; ++i) {
    sizes.total += blocks[i].bytes;
    sizes.most = std::max(sizes.most, blocks[i].bytes);
    sizes.equal = sizes.equal && blocks[i].bytes == blocks[0].bytes;
  }
  return sizes;
}

void number_pieces(kernels::Blocks& list, kernels::Block* blocks) {
  list.pieces = 0;
  list.even = 1;
  uint64_t of_first = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    blocks[i].first = list.pieces;
    const uint64_t pieces = (blocks[i].bytes + list.piece_bytes - 1) / list.piece_bytes;
    if (i == 0) of_first = pieces;
    if (pieces != of_first) list.even = 0;
    list.pieces += pieces;
  }
}

uint64_t worth_ctas(uint64_t bytes) {
  const uint64_t late = bytes > kLongBytes ? bytes / kLateCtaBytes : 0;
  return std::min(bytes / kCtaBytes, kFillingCtas) + late;
}

// This cuts so that there are no more than `groups` pieces, if there are no more blocks than that.
uint64_t piece_bytes(const Sizes& sizes, uint32_t count, uint64_t groups) {
  if (groups < 2 * uint64_t{count} && !(sizes.equal && groups >= count)) return sizes.most;
  if (sizes.equal) return round_up((sizes.most + groups / count - 1) / (groups / count), kLineBytes);
  return round_up(sizes.total / (groups - count) + 1, kLineBytes);
}

}  // namespace

Cut cut_for_one(kernels::Blocks& list, kernels::Block* blocks) {
  const Sizes sizes = sizes_of(list, blocks);
  constexpr unsigned kWarps = kernels::kMostThreads / kernels::kWarpLanes;
  list.piece_bytes = std::max(kOnePassBytes, round_up(sizes.total / kWarps, kOnePassBytes));
  number_pieces(list, blocks);
  const auto warps = static_cast<unsigned>(std::clamp<uint64_t>(list.pieces, 1, kWarps));
  return {1, warps * kernels::kWarpLanes, kernels::kWarpLanes};
}

Cut cut(kernels::Blocks& list, kernels::Block* blocks, unsigned most_grid) {
  const Sizes sizes = sizes_of(list, blocks);
  if (sizes.total <= kSmallBytes) return cut_for_one(list, blocks);
  const uint64_t groups = std::min<uint64_t>(most_grid, std::max<uint64_t>(list.count, worth_ctas(sizes.total)));
  list.piece_bytes = piece_bytes(sizes, list.count, groups);
  number_pieces(list, blocks);
  return {static_cast<unsigned>(std::min<uint64_t>(most_grid, list.pieces)), kCtaThreads, kCtaThreads};
}

}  // namespace gpu
