// What   size - 1 steps; in step k every rank sends the block for the rank k after it, gets its own from the rank k before it, and combines
//        that with what it has. Part by part. Where the order of the ranks is asked for, the parts of all ranks come first.
// When   Long blocks, ranks that share no memory.
// Cost   (p-1)(a + mb), and m read and combined p-1 times.
// Needs  Scratch for two parts of a block, each 16 MiB at most; in the order of the ranks for one of every rank, 16 MiB together.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.4.

#include <algorithm>

#include "collectives/reduce_scatter_block/own_block.h"

namespace crossrail::reduce_scatter_block::pairwise {
namespace {

constexpr std::size_t kMostPartBytes = std::size_t{16} << 20;

// That a rank keeps at a time.
std::size_t parts_kept(const Topology& topology) { return topology.rank_order ? static_cast<std::size_t>(topology.size) : 2; }

// Whole elements; 0: not even one has room.
std::size_t part_at_most(const Topology& topology, const Reduction& reduction) {
  const std::size_t element = bytes_of(reduction.element), kept = parts_kept(topology);
  const std::size_t largest = topology.rank_order ? kMostPartBytes / kept : kMostPartBytes;
  const std::size_t most = std::min<std::uint64_t>(largest, topology.scratch_bytes / kept);
  return element == 0 ? 0 : most / element * element;
}

std::size_t part_bytes(const Topology& topology, const Shape& shape) {
  return std::min<std::uint64_t>(part_at_most(topology, shape.reduction), shape.block_bytes);
}

// A part of all blocks, of which this rank's own come first and are combined then; the rest as run_part.
Status run_part_in_order(Plan& plan, const Buffers& buffers, std::size_t from, std::size_t bytes) {
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  const auto kept = [&](int member) { return plan.scratch() + static_cast<std::size_t>(member) * plan.chunk_bytes; };
  copy_block(kept(index), sent(plan, buffers, index) + from, bytes);
  for (int step = 1; step < size; ++step) {
    const int to = (index + step) % size, before = (index - step + size) % size;
    CROSSRAIL_TRY(plan.receive(group[before], kept(before), bytes));
    CROSSRAIL_TRY(plan.send(group[to], sent(plan, buffers, to) + from, bytes));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  const auto row = [&](int member, const std::byte*& at) -> Status {
    at = kept(member);
    return {};
  };
  return Rows(plan, size, nullptr).combine(bytes, buffers.recv + from, row);
}

// A part of all blocks; in place its result goes where the first one's part lay, which has been sent by then.
Status run_part(Plan& plan, const Buffers& buffers, std::size_t from, std::size_t bytes) {
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  const Combiner by = combiner_of(plan);
  std::byte *const combined = plan.scratch(), *const arriving = combined + plan.chunk_bytes;
  copy_block(combined, sent(plan, buffers, index) + from, bytes);
  for (int step = 1; step < size; ++step) {
    const int to = (index + step) % size;
    CROSSRAIL_TRY(plan.receive(group[(index - step + size) % size], arriving, bytes));
    CROSSRAIL_TRY(plan.send(group[to], sent(plan, buffers, to) + from, bytes));
    CROSSRAIL_TRY(plan.links->wait_posted());
    by.combine(combined, arriving, combined, bytes / by.element_bytes);
  }
  copy_block(buffers.recv + from, combined, bytes);
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  const bool room = part_at_most(topology, shape.reduction) > 0;
  return Fit().needs(is_defined(shape.reduction), kDefinedReduction).at_most(room ? ~std::uint64_t{0} : 0).planned(Planning::when_larger);
}

Status plan(Plan& plan) {
  plan.chunk_bytes = part_bytes(*plan.topology, plan.shape);
  const Status opened = plan.links->open_messages();
  const Status reserved = plan.reserve_scratch(parts_kept(*plan.topology) * plan.chunk_bytes);
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  for (std::size_t from = 0; from < block; from += plan.chunk_bytes) {
    const std::size_t bytes = std::min(plan.chunk_bytes, block - from);
    CROSSRAIL_TRY(plan.topology->rank_order ? run_part_in_order(plan, buffers, from, bytes) : run_part(plan, buffers, from, bytes));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block::pairwise
