// Gatherv and scatterv share this code. They are an alltoallv in which only the blocks to the root, or from the root, are not empty.
#pragma once

#include <vector>

#include "collectives/alltoallv/messages.h"
#include "collectives/node_rows.h"

namespace crossrail::rooted_vectors {

using Came = std::vector<std::size_t>;  // It says for every rank how much has arrived.

inline Status plan_messages(Plan& plan) {
  plan.keep(Came(static_cast<std::size_t>(plan.group.size())));
  return plan.links->open_messages();
}

inline Status run_messages(Plan& plan, const Buffers& buffers) {
  const int size = plan.group.size();
  alltoallv::BlockMessages messages(plan, buffers, plan.kept<Came>(), alltoallv::every_block);
  CROSSRAIL_TRY(messages.post({1, size}));
  alltoallv::copy_own_block(plan, buffers);
  return messages.finish(size);
}

inline Status plan_node(Plan& plan) {
  plan.as_they_lie = Plan::AsTheyLie::all;
  return plan.keep(NodeRows()).plan(plan);
}

inline Status run_node(Plan& plan, const Buffers& buffers) {
  auto& rows = plan.kept<NodeRows>();
  CROSSRAIL_TRY(rows.publish(plan, buffers));
  alltoallv::copy_own_block(plan, buffers);
  return rows.fetch(plan, buffers);
}

}  // namespace crossrail::rooted_vectors
