// These tests read the environment. CMakeLists.txt sets the variables.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "topology/topology.h"

namespace crossrail::tests {
namespace {

// This comes first: the environment is read at the first use, and complaints come then, once.
TEST(Environment, is_read_once_and_complaints_name_the_variable) {
  testing::internal::CaptureStderr();
  const Settings& settings = process_settings();
  (void)process_settings();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(settings.scratch_bytes, 3u << 20);
  EXPECT_EQ(settings.alltoall, "bruck");
  EXPECT_EQ(settings.plan_count, Settings{}.plan_count) << "CROSSRAIL_PLANS=many makes no sense";
  EXPECT_EQ(settings.enabled, 0u) << "CROSSRAIL=2 is neither on nor off";
  EXPECT_NE(said.find("CROSSRAIL_PLANS=many"), std::string::npos) << said;
  EXPECT_NE(said.find("CROSSRAIL_ALLTOAL is not a setting"), std::string::npos) << "an unknown variable: " << said;
  EXPECT_NE(said.find("CROSSRAIL=2"), std::string::npos) << said;
  EXPECT_EQ(said.find("CROSSRAILS"), std::string::npos) << "not ours: " << said;
  EXPECT_EQ(said.find("CROSSRAIL_TUNING"), std::string::npos) << "empty is as unset: " << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
}

TEST(Log, writes_lines_of_its_level_only) {
  testing::internal::CaptureStderr();
  log_line(LogLevel::plan, "a plan of %d", 4);
  log_line(LogLevel::detail, "a detail");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a plan of 4\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("a detail"), std::string::npos) << said;
}

TEST(Log, a_long_line_is_cut_but_stays_a_line) {
  testing::internal::CaptureStderr();
  log_line(LogLevel::error, "%s", std::string(5000, 'x').c_str());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.back(), '\n');
  EXPECT_LE(said.size(), 512u);
}

TEST(Log, first_time_is_true_once_a_key) {
  EXPECT_TRUE(first_time("key a"));
  EXPECT_FALSE(first_time("key a"));
  EXPECT_TRUE(first_time("key b"));
}

// A process finds out once where it is, so every question is asked in a fresh one.
std::uint64_t host_of_world_rank(int rank, std::string& said) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  testing::internal::CaptureStderr();
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t host = discover_location(rank).host;
    _exit(write(ends[1], &host, sizeof host) == sizeof host ? 0 : 1);
  }
  std::uint64_t host = 0;
  EXPECT_EQ(read(ends[0], &host, sizeof host), static_cast<ssize_t>(sizeof host));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  said = testing::internal::GetCapturedStderr();
  close(ends[0]);
  close(ends[1]);
  return host;
}

TEST(Nodes, come_from_the_environment_by_rank_of_the_world) {
  std::string said;
  const std::uint64_t real = host_of_world_rank(-1, said);
  const std::uint64_t first = host_of_world_rank(0, said);
  EXPECT_EQ(first, host_of_world_rank(1, said));
  EXPECT_NE(first, host_of_world_rank(2, said));
  EXPECT_NE(first, real);
  EXPECT_EQ(said, "");
  EXPECT_EQ(host_of_world_rank(3, said), real) << "no entry: the real node";
  EXPECT_NE(said.find("no entry for rank 3"), std::string::npos) << said;
}

}  // namespace
}  // namespace crossrail::tests
