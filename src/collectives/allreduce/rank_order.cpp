// What   The elements are dealt to the ranks. Every rank gathers its share from all others, pairwise, combines it in the order of the ranks, as
//        ((r0 op r1) op r2) op ..., and gives the results to all: straight, or, of large shares, round a ring. Part by part. Few elements go
//        whole to everybody, and every rank combines all of them.
// When   Results must not depend on where ranks are (CROSSRAIL_REPRODUCIBLE), and ranks do not all share memory.
// Cost   (p-1)(a + mb/p) + (p-1)(a + mb/p), m bytes of elements; few: (p-1)(a + mb). In the nodes nothing is combined before it leaves: with l
//        ranks a node l times as much crosses the network as with multi_lane. Every sum has p-1 roundings one after the other, not log2(p):
//        the order is fixed, the accuracy is not better.
// Needs  Scratch for a part. Parameters: part (scratch, but at least a share of 4 KiB of every rank), throttle, whole (most bytes of elements
//        that go whole), around (least of a share that goes round the ring).
// From   Scatter and gather of a long reduction: Thakur, Rabenseifner, Gropp 2005, section 4; that an order fixed by ranks makes sums
//        reproducible, and what it costs: Balaji and Kimpe 2013; Demmel and Nguyen 2015 have sums that no order changes, by other means.

#include <algorithm>

#include "collectives/allreduce/messages.h"
#include "collectives/allreduce/tree.h"
#include "collectives/parameters.h"
#include "collectives/partners.h"
#include "collectives/throttle.h"

namespace crossrail::allreduce::rank_order {
namespace {

struct Ways {
  bool whole;
  std::size_t stride;  // It counts the bytes of scratch for what one rank sends.
  int throttle;
  std::size_t around;
};

constexpr std::size_t kLeastShare = 4 * 1024;

// Returns the largest share of a part that a rank may have: whole elements, and at least one if the scratch has room for it.
std::size_t share_bytes(const Plan& plan) {
  const auto ranks = static_cast<std::uint64_t>(plan.group.size());
  const std::size_t element = bytes_of(plan.shape.reduction.element);
  const std::uint64_t part = plan.parameter(parameters::part);
  const std::uint64_t wanted = std::max<std::uint64_t>({element, part / ranks, std::min<std::uint64_t>(part, kLeastShare)});
  const std::uint64_t all = (plan.shape.block_bytes / element + ranks - 1) / ranks * element;
  return std::min({wanted, all, plan.topology->scratch_bytes / ranks}) / element * element;
}

// A Part knows which rank has which of its elements.
class Part {
 public:
  Part(const Exchange& exchange, const Elements& elements, const Ways& ways)
      : exchange_(exchange), elements_(elements), ways_(ways), bytes_(exchange.by.element_bytes), size_(exchange.group.size()), index_(exchange.group.index()) {}

  Status reduce() const {
    CROSSRAIL_TRY(gather());
    CROSSRAIL_TRY(combine());
    if (ways_.whole) return {};
    return share(0).count * bytes_ >= ways_.around ? send_around() : send_to_all();
  }

 private:
  Stretch share(int member) const {
    if (ways_.whole) return {0, elements_.count};
    return Deal{elements_.count, static_cast<std::size_t>(size_)}.of(static_cast<std::size_t>(member));
  }
  std::byte* kept(int member) const { return exchange_.arriving + static_cast<std::size_t>(member) * ways_.stride; }
  std::byte* result(const Stretch& of) const { return elements_.recv + of.first * bytes_; }

  // Calls `post` for what goes to and comes from the partners of every step.
  template <class Post>
  Status with_all(Post post) const {
    for (int step = 1; step < size_; ++step) {
      CROSSRAIL_TRY(post(partners_of(exchange_.group, step)));
      if (step % ways_.throttle == 0) CROSSRAIL_TRY(exchange_.wait());
    }
    return exchange_.wait();
  }

  Status gather() const {
    const Stretch mine = share(index_);
    // In place, the results of the ranks before this one arrive where its own elements lie.
    if (elements_.in_place()) copy_block(kept(index_), elements_.send + mine.first * bytes_, mine.count * bytes_);
    return with_all([&](const Partners& partners) {
      const Stretch its = share(partners.to);
      CROSSRAIL_TRY(exchange_.receive(partners.from, kept(partners.from), mine.count));
      return exchange_.send(partners.to, elements_.send + its.first * bytes_, its.count);
    });
  }

  // Combines stretches that a processor's caches hold.
  Status combine() const {
    constexpr std::size_t kStretchBytes = 8 * 1024;
    const Stretch mine = share(index_);
    const std::byte* const own = elements_.in_place() ? kept(index_) : elements_.send + mine.first * bytes_;
    const std::size_t step = std::max<std::size_t>(1, kStretchBytes / bytes_);
    const Tree tree(exchange_.by, size_, nullptr, 0);
    for (std::size_t done = 0; done < mine.count; done += step) {
      const auto operand = [&](int member, const std::byte*& at) -> Status {
        at = (member == index_ ? own : kept(member)) + done * bytes_;
        return {};
      };
      CROSSRAIL_TRY(tree.fold(std::min(step, mine.count - done), result(mine) + done * bytes_, operand));
    }
    return {};
  }

  Status send_to_all() const {
    const Stretch mine = share(index_);
    return with_all([&](const Partners& partners) {
      const Stretch its = share(partners.from);
      CROSSRAIL_TRY(exchange_.receive(partners.from, result(its), its.count));
      return exchange_.send(partners.to, result(mine), mine.count);
    });
  }

  Status send_around() const {
    const int next = (index_ + 1) % size_, before = (index_ - 1 + size_) % size_;
    for (int step = 0; step < size_ - 1; ++step) {
      const Stretch out = share((index_ - step + size_) % size_), in = share((before - step + size_) % size_);
      CROSSRAIL_TRY(exchange_.receive(before, result(in), in.count));
      CROSSRAIL_TRY(exchange_.send(next, result(out), out.count));
      CROSSRAIL_TRY(exchange_.wait());
    }
    return {};
  }

  const Exchange& exchange_;
  const Elements& elements_;
  const Ways& ways_;
  std::size_t bytes_;  // It is the size of an element.
  int size_, index_;
};

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  const std::size_t element = bytes_of(shape.reduction.element);
  return Fit()
      .needs(is_defined(shape.reduction), kDefinedReduction)
      .needs(topology.scratch_bytes / static_cast<std::uint64_t>(topology.size) >= element, kMoreScratch);
}

Status plan(Plan& plan) {
  const auto ranks = static_cast<std::size_t>(plan.group.size());
  const std::uint64_t bytes = plan.shape.block_bytes;
  const bool whole = bytes <= plan.parameter(parameters::whole) && bytes * ranks <= plan.topology->scratch_bytes;
  const std::size_t stride = whole ? bytes : share_bytes(plan);
  plan.keep(Ways{whole, stride, std::max(1, throttle_of(plan)), plan.parameter(parameters::around)});
  plan.chunk_bytes = whole ? bytes : stride * ranks;
  const Status opened = plan.links->open_messages();
  const Status reserved = plan.reserve_scratch(stride * ranks);
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const Exchange exchange{plan, plan.group, combiner_of(plan), plan.scratch()};
  const Ways& ways = plan.kept<Ways>();
  const Elements elements = elements_of(plan, buffers);
  if (plan.group.size() == 1) {
    copy_alone(elements, exchange.by.element_bytes);
    return {};
  }
  return in_parts(elements, exchange.by.element_bytes, plan.chunk_bytes, [&](const Elements& part) { return Part(exchange, part, ways).reduce(); });
}

}  // namespace crossrail::allreduce::rank_order
