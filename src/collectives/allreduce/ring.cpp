// What   The elements are dealt to the ranks. p-1 steps: each part goes once round the ring, from the rank after its owner to its
//        owner, and every rank on its way adds its own; p-1 steps more take the results round.
// When   Very many elements: messages go between neighbours only, and every byte is sent twice at most.
// Cost   2(p-1)(a + mb/p), m bytes of elements.
// Needs  Scratch for a p-th of the elements (reserved: all of them, 16 MiB at most).
// From   Multi-process-per-GPU allreduce paper, algorithm 1; Patarasuk and Yuan 2009.

#include "collectives/allreduce/messages.h"

namespace crossrail::allreduce::ring {
namespace {

// Returns the part that a rank sends in a step. It receives the part that its previous neighbour sends.
int part_in_step(const Group& group, int index, int step) { return (index - step + 2 * group.size()) % group.size(); }

}  // namespace

Status reduce(const Exchange& exchange, const Elements& elements) {
  const Group& group = exchange.group;
  const int size = group.size(), index = group.index();
  if (size == 1) {
    copy_alone(elements, exchange.by.element_bytes);
    return {};
  }
  const int next = (index + 1) % size, before = (index - 1 + size) % size;
  const Deal deal{elements.count, static_cast<std::size_t>(size)};
  const std::size_t bytes = exchange.by.element_bytes;
  const std::byte* mine = elements.send;  // It points to this rank's own elements first, and then to what it has combined.
  for (int step = 0; step < size - 1; ++step) {
    const Stretch out = deal.of(static_cast<std::size_t>(part_in_step(group, index, step)));
    const Stretch in = deal.of(static_cast<std::size_t>(part_in_step(group, before, step)));
    CROSSRAIL_TRY(exchange.receive(before, exchange.arriving, in.count));
    CROSSRAIL_TRY(exchange.send(next, mine + out.first * bytes, out.count));
    CROSSRAIL_TRY(exchange.wait());
    exchange.by.combine(exchange.arriving, elements.send + in.first * bytes, elements.recv + in.first * bytes, in.count);
    mine = elements.recv;
  }
  for (int step = 0; step < size - 1; ++step) {
    const Stretch out = deal.of(static_cast<std::size_t>(part_in_step(group, next, step)));
    const Stretch in = deal.of(static_cast<std::size_t>(part_in_step(group, index, step)));
    CROSSRAIL_TRY(exchange.receive(before, elements.recv + in.first * bytes, in.count));
    CROSSRAIL_TRY(exchange.send(next, elements.recv + out.first * bytes, out.count));
    CROSSRAIL_TRY(exchange.wait());
  }
  return {};
}

Fit fit(const Topology& topology, const Shape& shape) { return fit_messages(topology, shape).needs(free_order(topology, shape), kFreeOrder); }

Status plan(Plan& plan) { return plan_messages(plan); }

Status run(Plan& plan, const Buffers& buffers) { return run_messages(plan, buffers, reduce); }

}  // namespace crossrail::allreduce::ring
