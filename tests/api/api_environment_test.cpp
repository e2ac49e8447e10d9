// These tests call the C API under settings of the environment (CMakeLists.txt sets them).

#include <gtest/gtest.h>

#include <string>

#include "crossrail/crossrail.h"
#include "tests/api/json_value.h"

namespace crossrail::tests {
namespace {

TEST(Settings, values_are_those_of_the_environment) {
  JsonValue rows;
  ASSERT_TRUE(parse_json(crossrail_settings(), rows)) << crossrail_settings();
  bool found = false;
  for (const JsonValue& row : rows.list) {
    if (row["variable"].text == "CROSSRAIL_ALLTOALL") found = row["value"].text == "pairwise";
    if (row["variable"].text == "CROSSRAIL_TUNING") {
      EXPECT_EQ(row["value"].text, "/not/there \"quoted\"/a.csv");
    }
  }
  EXPECT_TRUE(found);
}

TEST(Explain, obeys_the_settings_and_tells_of_an_unreadable_table) {
  crossrail_question asked{};
  asked.collective = "alltoall";
  asked.block_bytes = 1 << 20;
  asked.size = 4;
  asked.shared_segment = 1;
  asked.single_copy = 1;
  JsonValue answer;
  ASSERT_TRUE(parse_json(crossrail_explain(&asked), answer)) << crossrail_explain(&asked);
  EXPECT_EQ(answer["chosen"].text, "pairwise");
  EXPECT_EQ(answer["candidates"].list[0]["origin"].text, "setting");
  for (const JsonValue& one : answer["candidates"].list) EXPECT_NE(one["algorithm"].text, "node_single_copy");
  EXPECT_NE(answer["warning"].text.find("\"quoted\""), std::string::npos) << answer["warning"].text;
}

}  // namespace
}  // namespace crossrail::tests
