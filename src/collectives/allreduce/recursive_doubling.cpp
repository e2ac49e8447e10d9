// What   log2(p) steps; in step k ranks that differ in bit k of their number exchange all that they have combined so far, and
//        both combine it. Where p is no power of two, the first ranks stand in pairs.
// When   Few elements: the fewest messages, one after the other.
// Cost   ceil(log2 p)(a + mb), m bytes of elements; two messages more where p is no power of two.
// Needs  Scratch for the elements, 16 MiB at most.
// From   Multi-process-per-GPU allreduce paper, section II; Thakur, Rabenseifner, Gropp 2005, section 4.

#include "collectives/allreduce/messages.h"

namespace crossrail::allreduce::recursive_doubling {

Status reduce(const Exchange& exchange, const Elements& elements) {
  const Folded folded(exchange.group);
  if (exchange.group.size() == 1) {
    copy_alone(elements, exchange.by.element_bytes);
    return {};
  }
  if (folded.participant() < 0) return folded.give_and_get(exchange, elements);
  const std::byte* mine = nullptr;
  CROSSRAIL_TRY(folded.take(exchange, elements, mine));
  for (int bit = 1; bit < folded.participants(); bit *= 2) {
    const int partner = folded.member(folded.participant() ^ bit);
    CROSSRAIL_TRY(exchange.receive(partner, exchange.arriving, elements.count));
    CROSSRAIL_TRY(exchange.send(partner, mine, elements.count));
    CROSSRAIL_TRY(exchange.wait());
    exchange.combine_arrived(partner, mine, elements.recv, elements.count);
    mine = elements.recv;
  }
  return folded.give_back(exchange, elements);
}

Fit fit(const Topology& topology, const Shape& shape) { return fit_doubling(topology, shape); }

Status plan(Plan& plan) { return plan_messages(plan); }

Status run(Plan& plan, const Buffers& buffers) { return run_messages(plan, buffers, reduce); }

}  // namespace crossrail::allreduce::recursive_doubling
