#include "base/settings.h"

#include <gtest/gtest.h>

#include <set>

namespace crossrail::tests {
namespace {

TEST(ParseBytes, takes_sizes) {
  const std::pair<const char*, std::uint64_t> sizes[] = {
      {"0", 0},          {"1", 1},          {"512", 512},           {"1K", 1024}, {"64k", 65536},
      {"2M", 2u << 20}, {"3g", 3ull << 30}, {"18446744073709551615", ~0ull}};
  for (const auto& [text, expected] : sizes) {
    std::uint64_t bytes = 77;
    EXPECT_TRUE(parse_bytes(text, bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
}

TEST(ParseBytes, refuses_what_is_no_size) {
  for (const char* text : {"", " ", "-1", "+1", "K", "1KB", "1 K", "1.5M", "0x10", "12a", "many", "1T",
                           "18446744073709551616", "18014398509481984K", "99999999999G"}) {
    std::uint64_t bytes = 77;
    EXPECT_FALSE(parse_bytes(text, bytes)) << text;
    EXPECT_EQ(bytes, 77u) << text;
  }
}

TEST(Settings, text_goes_from_one_rank_to_another) {
  Settings mine;
  mine.alltoall = "pairwise";
  mine.scratch_bytes = 12345;
  mine.enabled = 0;
  mine.segment = "";
  mine.log_level = 2;
  mine.nodes = "0,1";
  Settings other;
  other.alltoall = "bruck";
  apply_communicator_settings(communicator_settings_text(mine), other);
  EXPECT_EQ(other.alltoall, "pairwise");
  EXPECT_EQ(other.scratch_bytes, 12345u);
  EXPECT_EQ(other.enabled, 0u);
  EXPECT_EQ(other.segment, "");
  EXPECT_EQ(communicator_settings_text(other), communicator_settings_text(mine));
  EXPECT_EQ(other.log_level, 0u) << "a setting of the process does not travel";
  EXPECT_EQ(other.nodes, "") << "a setting of the process does not travel";
}

TEST(Settings, an_empty_text_takes_a_value_back) {
  Settings mine, other;
  other.alltoall = "bruck";
  apply_communicator_settings(communicator_settings_text(mine), other);
  EXPECT_EQ(other.alltoall, "");
}

TEST(Settings, lines_that_are_not_understood_are_ignored) {
  Settings settings;
  const std::string before = communicator_settings_text(settings);
  for (const char* text : {"", "\n", "=", "nonsense", "CROSSRAIL_SCRATCH", "CROSSRAIL_SCRATCH=x\n",
                           "CROSSRAIL_SCRATCH=\n", "CROSSRAIL=2\n", "OTHER=1\nCROSSRAIL_PLANS=-4"}) {
    apply_communicator_settings(text, settings);
    EXPECT_EQ(communicator_settings_text(settings), before) << text;
  }
  apply_communicator_settings("what\nCROSSRAIL_PLANS=7", settings);
  EXPECT_EQ(settings.plan_count, 7u);
}

TEST(Settings, flags_are_numbers_or_words) {
  Settings settings;
  for (const char* on : {"1", "on", "yes", "true", "TRUE"}) {
    settings.enabled = 0;
    apply_communicator_settings(std::string("CROSSRAIL=") + on, settings);
    EXPECT_EQ(settings.enabled, 1u) << on;
  }
  for (const char* off : {"0", "off", "No", "false"}) {
    settings.enabled = 1;
    apply_communicator_settings(std::string("CROSSRAIL=") + off, settings);
    EXPECT_EQ(settings.enabled, 0u) << off;
  }
}

TEST(Settings, what_was_read_when_the_process_began_does_not_change) {
  for (const char* variable : {"CROSSRAIL_REPORT", "CROSSRAIL_TRACE", "CROSSRAIL_RECORD", "CROSSRAIL_CONFIG", "CROSSRAIL_HELPERS", "CROSSRAIL_NOTHING"}) {
    EXPECT_FALSE(change_process_setting(variable, "1")) << variable;
  }
  const std::string before = std::to_string(process_settings().pmpi);
  for (const char* value : {"0", "1", before.c_str()}) EXPECT_TRUE(change_process_setting("CROSSRAIL_PMPI", value));
}

TEST(Settings, rows_are_complete_and_named_alike) {
  std::set<std::string> variables;
  for (const SettingRow& row : setting_rows()) {
    EXPECT_TRUE(std::string(row.variable).rfind("CROSSRAIL", 0) == 0) << row.variable;
    EXPECT_TRUE(variables.insert(row.variable).second) << row.variable;
    EXPECT_TRUE(std::set<std::string>({"path", "algorithm", "segments", "nodes", "bytes", "count", "level", "flag"}).count(row.kind)) << row.variable;
    EXPECT_TRUE(std::set<std::string>({"communicator", "process", "start", "environment", "launch"}).count(row.scope)) << row.variable;
    EXPECT_GT(std::string(row.help).size(), 10u) << row.variable;
  }
  const auto values = setting_values(Settings{});
  ASSERT_EQ(values.size(), setting_rows().size());
  for (std::size_t row = 0; row < values.size(); ++row) EXPECT_EQ(values[row], setting_rows()[row].preset);
}

}  // namespace
}  // namespace crossrail::tests
