// Rows declare the parameters that their algorithms read. An undeclared one could not be set.

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "selection/parameters.h"
#include "virtual_world/thread_world.h"

namespace crossrail::tests {
namespace {

// Returns what is said on standard error while all ranks make the row's plan. There are three worlds: one node, and several.
std::string said_while_planning(const Algorithm& row, const Shape& shape) {
  virtual_world::WorldOptions options;
#define COLLECTIVE(one, ...) \
  if (row.collective == Collective::one) options.settings.one = row.name;
#include "collectives/collectives.def"
#undef COLLECTIVE
  testing::internal::CaptureStderr();
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0}, {0, 0, 1, 1}, {0, 1, 1, 2}}) {
    virtual_world::world(nodes, options, [&](Communicator& communicator) {
      Plan* plan = nullptr;
      EXPECT_TRUE(plan_for(communicator.slot(), shape, plan).ok());
      if (row.fits(communicator.topology, shape)) {
        EXPECT_STREQ(plan->algorithm, row.name);
      }
    });
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Parameters, that_are_read_are_declared) {
  for (const Collective collective : kCollectives) {
    for (const Algorithm& row : catalogue(collective)) {
      for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{100'000}}) {
        const bool sized = row_of(collective).counts != Counts::vector;
        Shape shape{collective, Memory::host, false, sized ? bytes : 0};
        if (row_of(collective).reduces) shape.reduction = {Operation::sum, Element::float64};
        EXPECT_EQ(said_while_planning(row, shape), "") << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
