// These tests check settings from a file: which file is read, what comes before what, and files that are none.

#include "base/setting_sources.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace crossrail::tests {
namespace {

class SettingFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crossrail_settings_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    file_ = folder_ + "/crossrail.conf";
    setenv("CROSSRAIL_CONFIG", file_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* one : {"CROSSRAIL_CONFIG", "CROSSRAIL_SLOTS", "CROSSRAIL"}) unsetenv(one);
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& text) { write(file_, text); }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  // Returns the only problem there is.
  static std::string problem(const SettingSources& sources) {
    std::string found;
    for (const GivenSetting& given : sources.given) {
      if (given.problem.empty()) continue;
      EXPECT_EQ(found, "") << "a second one: " << given.problem;
      found = given.problem;
    }
    return found;
  }

  std::string folder_, file_;
};

TEST_F(SettingFiles, lines_are_read) {
  write("# what this user wants\n\n slots = 2 # few\nplans=7\nscratch =3M\nalltoall = pairwise throttle=4\r\nlog =\n");
  const SettingSources sources = read_setting_sources();
  EXPECT_EQ(problem(sources), "");
  EXPECT_EQ(sources.file, file_);
  EXPECT_EQ(sources.settings.slots, 2u);
  EXPECT_EQ(sources.settings.plan_count, 7u);
  EXPECT_EQ(sources.settings.scratch_bytes, 3u << 20);
  EXPECT_EQ(sources.settings.alltoall, "pairwise throttle=4");
  ASSERT_EQ(sources.given.size(), 5u);  // CROSSRAIL_CONFIG is among them.
  EXPECT_EQ(sources.given[0].from, file_ + ":3");
}

TEST_F(SettingFiles, the_environment_comes_first) {
  write("slots = 2\ncrossrail = off\n");
  EXPECT_EQ(read_setting_sources().settings.enabled, 0u);
  setenv("CROSSRAIL_SLOTS", "3", 1);
  setenv("CROSSRAIL", "on", 1);
  EXPECT_EQ(read_setting_sources().settings.slots, 3u);
  EXPECT_EQ(read_setting_sources().settings.enabled, 1u);
  setenv("CROSSRAIL_SLOTS", "many", 1);
  const SettingSources sources = read_setting_sources();
  EXPECT_EQ(sources.settings.slots, 2u);
  EXPECT_EQ(problem(sources), "CROSSRAIL_SLOTS=many is ignored: it takes a number; 2 (" + file_ + ":1) is used");
}

TEST_F(SettingFiles, config_names_one_file_or_none) {
  write("slots = 2\n");
  write(folder_ + "/other", "plans = 5\n");
  setenv("CROSSRAIL_CONFIG", (folder_ + "/other").c_str(), 1);
  EXPECT_EQ(read_setting_sources().settings.plan_count, 5u);
  EXPECT_EQ(read_setting_sources().settings.slots, Settings{}.slots);
  for (const char* none : {"none", ""}) {
    setenv("CROSSRAIL_CONFIG", none, 1);
    EXPECT_EQ(read_setting_sources().file, "");
    EXPECT_EQ(read_setting_sources().settings.slots, Settings{}.slots);
  }
  setenv("CROSSRAIL_CONFIG", (folder_ + "/nosuch").c_str(), 1);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + folder_ + "/nosuch is not there: ignored");
}

TEST_F(SettingFiles, bad_lines_are_told_and_the_others_hold) {
  const std::pair<const char*, const char*> kLines[] = {
      {"slots", ":1: 'slots' is no 'name = value': ignored"},
      {"= 3", ":1: '= 3' is no 'name = value': ignored"},
      {"slot = 3", ":1: CROSSRAIL_SLOT = 3 is not a setting of crossrail: ignored (see 'crossrail list --settings')"},
      {"CROSSRAIL_SLOTS = 3", ":1: CROSSRAIL_CROSSRAIL_SLOTS = 3 is not a setting of crossrail: ignored (see 'crossrail list --settings')"},
      {"slots = -3", ":1: CROSSRAIL_SLOTS = -3 is ignored: it takes a number; the default, 4, is used"},
      {"segment = memfd,disk", ":1: CROSSRAIL_SEGMENT = memfd,disk is ignored: it takes memfd, shm and none, with commas between them; the default, memfd,shm, is used"},
      {"nodes = 0,,1", ":1: CROSSRAIL_NODES = 0,,1 is ignored: it takes numbers with commas between them, such as 0,0,1,1; the default, none, is used"},
      {"log = 3", ":1: CROSSRAIL_LOG = 3 is ignored: it takes 0, 1 or 2; the default, 0, is used"},
      {"crossrail = perhaps", ":1: CROSSRAIL = perhaps is neither on nor off: crossrail is off"},
      {"pmpi = 0", ":1: CROSSRAIL_PMPI = 0 is ignored: it must be in the environment"},
      {"config = x", ":1: CROSSRAIL_CONFIG = x is ignored: it must be in the environment"}};
  for (const auto& [line, words] : kLines) {
    write(std::string(line) + "\nplans = 9\n");
    const SettingSources sources = read_setting_sources();
    EXPECT_EQ(problem(sources), file_ + words) << line;
    EXPECT_EQ(sources.settings.plan_count, 9u) << line;
  }
}

TEST_F(SettingFiles, of_many_bad_lines_the_first_is_told) {
  std::string text;
  for (int line = 0; line < 1000; ++line) text += std::string("\x01\x7f what\n", 8);
  write(text + "plans = 9\n");
  const SettingSources sources = read_setting_sources();
  EXPECT_EQ(problem(sources), file_ + ":1: '?? what' is no 'name = value': ignored");
  EXPECT_EQ(sources.settings.plan_count, 9u);
}

TEST_F(SettingFiles, what_is_no_small_regular_file_is_not_read) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + file_ + " is a FIFO: ignored");
  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_EQ(mkdir(file_.c_str(), 0700), 0);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + file_ + " is a directory: ignored");
  ASSERT_EQ(rmdir(file_.c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", file_.c_str()), 0);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + file_ + " is no regular file: ignored");
  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_EQ(symlink("nowhere", file_.c_str()), 0);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + file_ + " is not there: ignored");
  ASSERT_EQ(unlink(file_.c_str()), 0);
  write("slots = 2\n");
  ASSERT_EQ(truncate(file_.c_str(), 1ll << 40), 0);
  EXPECT_EQ(problem(read_setting_sources()), "CROSSRAIL_CONFIG: " + file_ + " is larger than 256 KiB: ignored");
  ASSERT_EQ(truncate(file_.c_str(), 0), 0);
  EXPECT_EQ(problem(read_setting_sources()), "");
  // A file of /proc says that it is empty, and is not.
  setenv("CROSSRAIL_CONFIG", "/proc/self/environ", 1);
  EXPECT_NE(read_setting_sources().file, "");
}

TEST_F(SettingFiles, a_value_cannot_smuggle_in_a_second_one) {
  write("");
  setenv("CROSSRAIL_TUNING", "x\nCROSSRAIL=0", 1);
  const SettingSources sources = read_setting_sources();
  unsetenv("CROSSRAIL_TUNING");
  EXPECT_EQ(sources.settings.tuning, "");
  EXPECT_EQ(problem(sources), "CROSSRAIL_TUNING=x?CROSSRAIL=0 is ignored: it takes one line; the default, none, is used");
}

}  // namespace
}  // namespace crossrail::tests
