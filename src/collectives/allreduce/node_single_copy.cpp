// What   Every rank offers the address of its elements, reads its share of all others' with process_vm_readv, some KiB at a time, and
//        combines what it has read while its caches hold it; the results go to all through the node's segment.
// When   One node, many elements: what others need is read where it lies, not copied first.
// Cost   Two flag latencies a part + (p-1) m/(p read) system calls and m read and combined + m copied.
// Needs  A shared segment, process_vm_readv allowed between the ranks, an order of its own. Elements that cannot be read after all are
//        staged in the segment, as node_shared does. Parameters: read (most bytes that are read at a time), part (most bytes of elements
//        that are staged in one epoch), uncached (least bytes of elements whose results are written past the caches).
// From   Ours, after node_single_copy of alltoall; Linux process_vm_readv(2).

#include <algorithm>

#include "collectives/allreduce/node_part.h"
#include "collectives/parameters.h"

namespace crossrail::allreduce::node_single_copy {
namespace {

// A rank offers it instead of an address if its elements cannot be read.
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// A plan keeps it, and it is the same on all ranks.
struct State {
  std::size_t block = 0;  // A rank reads at most so many bytes at a time.
  bool refused = false;   // Some rank could not read.
};

// Returns how many bytes of a call's elements to read at a time, which is no more than a share.
std::size_t block_at_most(const Plan& plan) {
  const std::size_t element_bytes = combiner_of(plan).element_bytes, grain = grain_of(element_bytes) * element_bytes;
  const std::size_t ranks = static_cast<std::size_t>(plan.control->node_size());
  const std::size_t share = round_up((plan.shape.block_bytes + ranks - 1) / ranks, grain);
  const std::size_t block = std::max<std::size_t>(std::min<std::size_t>(plan.parameter(parameters::read), share) / element_bytes, 1) * element_bytes;
  return round_up(block, kCacheLineBytes);
}

class ReadPart {
 public:
  ReadPart(Plan& plan, const Elements& elements)
      : plan_(plan), control_(*plan.control), by_(combiner_of(plan)), elements_(elements),
        shares_{elements.count, grain_of(by_.element_bytes), control_.node_size()}, mine_(shares_.of(control_.node_rank())),
        block_(std::min(plan.kept<State>().block, block_at_most(plan))) {}

  Status run() {
    const std::uint64_t epoch = control_.next_epoch();
    flag_ = control_.flag(epoch), half_ = epoch & 1;
    CROSSRAIL_TRY(control_.wait_until_reusable(epoch));
    offer();
    const Status read = reduce();
    if (!read.ok() && read.code != Code::system) return read;
    raise_flag(control_.my_lines().finished.word[half_], read.ok() ? flag_ : refused_flag());
    CROSSRAIL_TRY(collect());
    // All ranks have read this rank's elements or will never read them.
    control_.seen_all(epoch);
    return stage_refused();
  }

 private:
  // The flag says that this rank could not read what it was to combine.
  std::uint64_t refused_flag() const { return flag_ ^ 0x3a7du; }

  void offer() {
    std::uint64_t address = 0;
    const Status exported = plan_.links->export_range(elements_.send, elements_.count * by_.element_bytes, address);
    ExportedRange& mine = control_.my_lines().exported[half_];
    mine.address.store(exported.ok() ? address : kNowhere, std::memory_order_relaxed);
    raise_flag(mine.flag, flag_);
  }

  // In place, a rank may overwrite what it has combined, because no other rank reads that share.
  Status reduce() {
    const std::size_t step = block_ / by_.element_bytes;
    for (std::size_t done = 0; done < mine_.count; done += step) {
      CROSSRAIL_TRY(reduce_block({mine_.first + done, std::min(step, mine_.count - done)}));
    }
    return {};
  }

  Status reduce_block(const Stretch& block) {
    std::byte* const read = plan_.scratch() + Tree::room(control_.node_size(), block_);
    int next = 0;
    const auto operand = [&](int peer, const std::byte*& at) -> Status {
      at = elements_.send + block.first * by_.element_bytes;
      if (peer == control_.node_rank()) return {};
      std::byte* const to = read + static_cast<std::size_t>(next) * block_;
      next = (next + 1) % Tree::kAwaited;
      at = to;
      return read_from(peer, block, to);
    };
    Tree tree(by_, control_.node_size(), plan_.scratch(), block_);
    return tree.begin_with(control_.node_rank()).combine(block.count, result(control_.node_rank(), block.first), operand);
  }

  Status read_from(int peer, const Stretch& block, std::byte* to) {
    const ExportedRange& offer = control_.lines(peer).exported[half_];
    CROSSRAIL_TRY(control_.await(peer, [&] { return offer.flag.load(std::memory_order_acquire) == flag_; }));
    const std::uint64_t address = offer.address.load(std::memory_order_relaxed);
    if (address == kNowhere) return failed(Code::system, "the elements cannot be read");
    return plan_.links->read_peer(control_.rank_of(peer), to, address + block.first * by_.element_bytes, block.count * by_.element_bytes);
  }

  // Returns where all ranks find the result of a peer's share.
  std::byte* result(int peer, std::size_t element) const {
    return control_.bulk(half_, peer) + (element - shares_.of(peer).first) * by_.element_bytes;
  }

  Status collect() {
    const CopyResults copy_result = copy_of_results(plan_, plan_.shape.block_bytes);
    for (int step = 0; step < control_.node_size(); ++step) {
      const int peer = (control_.node_rank() + step) % control_.node_size();
      CROSSRAIL_TRY(control_.await(peer, [&] { return finished(peer) == flag_ || has_refused(peer); }));
      const Stretch its = shares_.of(peer);
      if (its.count == 0 || has_refused(peer)) continue;
      copy_result(elements_.recv + its.first * by_.element_bytes, result(peer, its.first), its.count * by_.element_bytes);
    }
    return {};
  }
  std::uint64_t finished(int peer) { return control_.lines(peer).finished.word[half_].load(std::memory_order_acquire); }
  // It is valid until the share has been staged, because a rank that has refused reaches no other epoch of this half before.
  bool has_refused(int peer) { return finished(peer) == refused_flag(); }

  // What ranks could not read, and so did not combine, is still unchanged everywhere.
  Status stage_refused() {
    for (int peer = 0; peer < control_.node_size(); ++peer) {
      if (!has_refused(peer)) continue;
      plan_.kept<State>().refused = true;
      const Stretch its = shares_.of(peer);
      CROSSRAIL_TRY(node_shared::reduce_by_parts(plan_, elements_.part(its.first, its.count, by_.element_bytes)));
    }
    return {};
  }

  Plan& plan_;
  ControlBlock& control_;
  Combiner by_;
  Elements elements_;
  Shares shares_;
  Stretch mine_;
  std::size_t block_;
  std::uint64_t flag_ = 0;
  int half_ = 0;
};

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  return fit_single_copy(topology).needs(is_defined(shape.reduction), kDefinedReduction).needs(free_order(topology, shape), kFreeOrder).planned(Planning::when_larger);
}

Status plan(Plan& plan) {
  const std::size_t element_bytes = combiner_of(plan).element_bytes, grain = grain_of(element_bytes) * element_bytes;
  const std::size_t ranks = static_cast<std::size_t>(plan.control->node_size());
  // Every share has room in its rank's region.
  plan.chunk_bytes = plan.control->layout().bulk_bytes / grain * grain * ranks;
  plan.keep(State{.block = block_at_most(plan)});
  // Larger calls may read more at a time, for which this plan has no room.
  const bool most = plan.shape.block_bytes / ranks >= plan.parameter(parameters::read);
  plan.serve(0, most ? Plan::kAnySize : plan.shape.block_bytes);
  if (plan.chunk_bytes == 0 || node_shared::most_staged(plan) == 0) return failed(Code::no_memory, "the node's segment has no room for an element");
  const std::size_t read = Tree::room(plan.control->node_size(), plan.kept<State>().block) + Tree::kAwaited * plan.kept<State>().block;
  return plan.reserve_scratch(std::max(read, NodePart::scratch_bytes(plan.control->node_size())));
}

Status run(Plan& plan, const Buffers& buffers) {
  const Elements elements = elements_of(plan, buffers);
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  if (plan.control->node_size() == 1) {
    copy_alone(elements, element_bytes);
    return {};
  }
  return in_parts(elements, element_bytes, plan.chunk_bytes, [&](const Elements& part) {
    return plan.kept<State>().refused ? node_shared::reduce_by_parts(plan, part) : ReadPart(plan, part).run();
  });
}

}  // namespace crossrail::allreduce::node_single_copy
