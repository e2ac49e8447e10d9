#include "comm/plan.h"

#include <gtest/gtest.h>

namespace crossrail::tests {
namespace {

TEST(Plan, is_native_by_itself) {
  EXPECT_TRUE(Plan{}.native());
  EXPECT_STREQ(Plan{}.algorithm, "native");
}

TEST(Plan, scratch_is_bounded) {
  Topology topology = topology_from_nodes({0, 0}, 0);
  topology.scratch_bytes = 1000;
  Plan plan;
  GrowableBuffer scratch;
  plan.topology = &topology;
  plan.slot_scratch = &scratch;
  EXPECT_EQ(plan.reserve_scratch(1001).code, Code::no_memory);
  EXPECT_EQ(plan.scratch_bytes, 0u);
  ASSERT_TRUE(plan.reserve_scratch(1000).ok());
  EXPECT_EQ(plan.scratch_bytes, 1000u);
  EXPECT_TRUE(plan.reserve_scratch(0).ok());
}

constexpr Parameter kChunk{"chunk", 9, Unit::bytes, kValues<1, 9>, "made up"}, kRanks{"ranks", 9, Unit::ranks, kValues<>, "made up"};

TEST(Plan, has_the_values_of_parameters) {
  const Topology topology = topology_from_nodes({0, 0}, 0);
  Plan plan;
  plan.topology = &topology;
  constexpr const Parameter* declared[] = {&kChunk, &kRanks};
  plan.parameters = ParameterValues(declared, {{"chunk", 5}, {"ranks", 5}, {"others", 7}});
  EXPECT_EQ(plan.parameters.by_name(), (Parameters{{"chunk", 5}, {"ranks", 5}}));
  EXPECT_EQ(plan.parameter(kChunk), 5u);
  EXPECT_EQ(plan.parameter(kRanks), 2u) << "there are not more";
}

TEST(Plan, a_parameter_that_the_row_does_not_declare_is_said) {
  const Topology topology = topology_from_nodes({0, 0}, 0);
  Plan plan;
  plan.topology = &topology;
  testing::internal::CaptureStderr();
  EXPECT_EQ(plan.parameter(kRanks), 2u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("native reads the parameter ranks, which its row does not declare"), std::string::npos);
}

TEST(Plan, text_tells_what_was_decided) {
  const Topology topology = topology_from_nodes({0, 0, 1}, 0);
  Plan plan;
  plan.topology = &topology;
  plan.shape = {Collective::alltoall, Memory::host, true, 640};
  plan.algorithm = "bruck";
  plan.reason = "default.csv:3";
  for (const char* part : {"alltoall", "640", "in place", "3 ranks on 2 nodes (2+1)", "bruck", "default.csv:3"}) {
    EXPECT_NE(plan.text().find(part), std::string::npos) << part << " in: " << plan.text();
  }
  EXPECT_EQ(plan.text().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace crossrail::tests
