// PlanSummary is what is reported of a plan and its last call when the plan itself may be gone, since a slot drops plans to make room for
// later calls.
#pragma once

#include "comm/plan.h"

namespace crossrail {

struct PlanSummary {
  bool native = true;
  Collective collective = Collective::alltoall;
  const char* algorithm = "native";
  std::uint64_t block_bytes = 0;
  int ranks = 0, nodes = 0;
  Traffic last;
  std::uint64_t partners = 0, node_bytes = 0, scratch_bytes = 0, calls = 0;
};

inline PlanSummary summary_of(const Plan& plan) {
  if (plan.native()) return {};
  return {false, plan.shape.collective, plan.algorithm, plan.shape.block_bytes, plan.topology->size, plan.topology->node_count(),
          plan.last, plan.remote_partner_count, plan.node_bytes, plan.scratch_bytes, plan.calls};
}

}  // namespace crossrail
