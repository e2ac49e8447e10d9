// These tests compare crossrail_machine with what the kernel says.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "crossrail/crossrail.h"
#include "tests/api/json_value.h"

namespace crossrail::tests {
namespace {

TEST(Machine, is_described_or_says_why_not) {
  JsonValue machine;
  ASSERT_TRUE(parse_json(crossrail_machine(), machine)) << crossrail_machine();
  if (machine.has("error")) GTEST_SKIP() << machine["error"].text;
  EXPECT_GE(machine["packages"].number, 0);
  EXPECT_EQ(machine["threads"].number, static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_LE(machine["cores"].number, machine["threads"].number);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(machine["host"].text, host);
  EXPECT_GT(machine["memory_bytes"].number, 1 << 20);
}

TEST(Machine, domains_caches_and_devices_are_complete) {
  JsonValue machine;
  ASSERT_TRUE(parse_json(crossrail_machine(), machine));
  if (machine.has("error")) GTEST_SKIP() << machine["error"].text;
  double memory = 0;
  EXPECT_FALSE(machine["domains"].list.empty());
  for (const JsonValue& domain : machine["domains"].list) {
    EXPECT_GE(domain["number"].number, 0);
    memory += domain["memory_bytes"].number;
  }
  EXPECT_EQ(machine["domains"].list[0]["cpus"].text.find_first_not_of("0123456789,-"), std::string::npos);
  EXPECT_EQ(memory, machine["memory_bytes"].number);
  for (const JsonValue& cache : machine["caches"].list) {
    EXPECT_GE(cache["level"].number, 1);
    EXPECT_GE(cache["count"].number, 1);
    EXPECT_TRUE(cache.has("bytes"));
  }
  for (const char* kind : {"gpus", "nics"}) {
    for (const JsonValue& device : machine[kind].list) {
      EXPECT_NE(device["name"].text, "");
      EXPECT_GE(device["domain"].number, -1);
    }
  }
}

JsonValue machine_of(const char* file) {
  setenv("HWLOC_XMLFILE", file, 1);
  JsonValue machine;
  EXPECT_TRUE(parse_json(crossrail_machine(), machine));
  unsetenv("HWLOC_XMLFILE");
  return machine;
}

TEST(Machine, tells_the_adapters_nearest_to_each_gpu) {
  const JsonValue machine = machine_of(TWO_PACKAGES);
  if (machine.has("error")) GTEST_SKIP() << machine["error"].text;
  struct Near {
    std::string gpu, bus;
    std::vector<std::string> adapters;
    std::string within;
  };
  const std::vector<Near> expected = {{"cuda0", "0000:12:00.0", {"mlx5_0", "mlx5_1"}, "PCI switch"},
                                      {"cuda1", "0000:22:00.0", {"mlx5_0", "mlx5_1"}, "PCI root"},
                                      {"cuda2", "0000:51:00.0", {"eth0"}, "package"}};
  ASSERT_EQ(machine["gpus"].list.size(), expected.size());
  for (std::size_t number = 0; number < expected.size(); ++number) {
    const JsonValue& gpu = machine["gpus"].list[number];
    std::vector<std::string> adapters;
    for (const JsonValue& name : gpu["nearest_nics"].list) adapters.push_back(name.text);
    EXPECT_EQ(gpu["name"].text, expected[number].gpu);
    EXPECT_EQ(gpu["bus"].text, expected[number].bus);
    EXPECT_EQ(adapters, expected[number].adapters);
    EXPECT_EQ(gpu["within"].text, expected[number].within);
  }
}

TEST(Machine, can_be_asked_again) {
  const std::string first = crossrail_machine();
  EXPECT_EQ(first, crossrail_machine());
}

}  // namespace
}  // namespace crossrail::tests
