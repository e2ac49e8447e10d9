// What   Reduce-scatter by recursive halving: in each step a rank gives half of the elements it still has to a partner, and combines
//        the other half; then allgather by recursive doubling, the same steps backwards. Where p is no power of two, the first
//        ranks stand in pairs.
// When   Many elements on some ranks: every rank combines and sends about as much as it has.
// Cost   2 log2(p) a + 2 (p-1)/p mb, m bytes of elements; where p is no power of two, two messages of m bytes more.
// Needs  Scratch for the elements, 16 MiB at most.
// From   Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4; the poster on multi-rail designs calls it RSA.

#include "collectives/allreduce/messages.h"

namespace crossrail::allreduce::rabenseifner {
namespace {

// Returns the elements of the participants from `first` to `first + many`.
Stretch stretch_of(const Deal& deal, int first, int many) {
  return deal.between(static_cast<std::size_t>(first), static_cast<std::size_t>(first + many));
}

// Participants form pairs that differ in one bit, within aligned groups of `2 *
// bit`. One half of the group's elements is this rank's, the other its partner's.
struct Halves {
  int mine, other;
  Halves(int participant, int bit) : mine(participant & ~(bit - 1)), other(mine ^ bit) {}
};

Status halve(const Exchange& exchange, const Folded& folded, const Elements& elements, const std::byte* mine) {
  const Deal deal{elements.count, static_cast<std::size_t>(folded.participants())};
  const std::size_t bytes = exchange.by.element_bytes;
  for (int bit = folded.participants() / 2; bit > 0; bit /= 2) {
    const int partner = folded.member(folded.participant() ^ bit);
    const Halves halves(folded.participant(), bit);
    const Stretch kept = stretch_of(deal, halves.mine, bit), given = stretch_of(deal, halves.other, bit);
    CROSSRAIL_TRY(exchange.receive(partner, exchange.arriving, kept.count));
    CROSSRAIL_TRY(exchange.send(partner, mine + given.first * bytes, given.count));
    CROSSRAIL_TRY(exchange.wait());
    exchange.combine_arrived(partner, mine + kept.first * bytes, elements.recv + kept.first * bytes, kept.count);
    mine = elements.recv;
  }
  return {};
}

Status gather(const Exchange& exchange, const Folded& folded, const Elements& elements) {
  const Deal deal{elements.count, static_cast<std::size_t>(folded.participants())};
  const std::size_t bytes = exchange.by.element_bytes;
  for (int bit = 1; bit < folded.participants(); bit *= 2) {
    const int partner = folded.member(folded.participant() ^ bit);
    const Halves halves(folded.participant(), bit);
    const Stretch kept = stretch_of(deal, halves.mine, bit), got = stretch_of(deal, halves.other, bit);
    CROSSRAIL_TRY(exchange.receive(partner, elements.recv + got.first * bytes, got.count));
    CROSSRAIL_TRY(exchange.send(partner, elements.recv + kept.first * bytes, kept.count));
    CROSSRAIL_TRY(exchange.wait());
  }
  return {};
}

}  // namespace

Status reduce(const Exchange& exchange, const Elements& elements) {
  const Folded folded(exchange.group);
  if (exchange.group.size() == 1) {
    copy_alone(elements, exchange.by.element_bytes);
    return {};
  }
  if (folded.participant() < 0) return folded.give_and_get(exchange, elements);
  const std::byte* mine = nullptr;
  CROSSRAIL_TRY(folded.take(exchange, elements, mine));
  CROSSRAIL_TRY(halve(exchange, folded, elements, mine));
  CROSSRAIL_TRY(gather(exchange, folded, elements));
  return folded.give_back(exchange, elements);
}

Fit fit(const Topology& topology, const Shape& shape) { return fit_doubling(topology, shape); }

Status plan(Plan& plan) { return plan_messages(plan); }

Status run(Plan& plan, const Buffers& buffers) { return run_messages(plan, buffers, reduce); }

}  // namespace crossrail::allreduce::rabenseifner
