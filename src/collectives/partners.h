// Partners says which members exchange in the steps 1 to n-1 of an all-to-all of n members.
#pragma once

#include "topology/group.h"

namespace crossrail {

// If n is a power of two, both are member XOR step; otherwise they form a ring shifted by the step (OHIO paper, section III-A). Both ends of a
// message count it as the same step.
struct Partners {
  int to, from;
};

inline Partners partners_of(int member, int members, int step) {
  if ((members & (members - 1)) == 0) return {member ^ step, member ^ step};
  return {(member + step) % members, (member - step + members) % members};
}

inline Partners partners_of(const Group& group, int step) { return partners_of(group.index(), group.size(), step); }

}  // namespace crossrail
