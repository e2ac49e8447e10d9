// What   The root sends every rank its block. Empty blocks are no messages.
// When   Several nodes.
// Cost   (p-1)a and all bytes at the root, one message elsewhere.
// Needs  Nothing.
// From   Thakur, Rabenseifner, Gropp 2005, section 2.

#include "collectives/rooted_vectors.h"

namespace crossrail::scatterv::direct {

Fit fit(const Topology&, const Shape&) { return {}; }

Status plan(Plan& plan) { return rooted_vectors::plan_messages(plan); }

Status run(Plan& plan, const Buffers& buffers) { return rooted_vectors::run_messages(plan, buffers); }

}  // namespace crossrail::scatterv::direct
