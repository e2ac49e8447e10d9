// These tests check that the JSON of the C API of libcrossrail.so can be read, and says what is so.

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "crossrail/crossrail.h"
#include "tests/api/json_value.h"

namespace crossrail::tests {
namespace {

JsonValue parsed(const char* text) {
  JsonValue value;
  EXPECT_TRUE(parse_json(text, value)) << text;
  return value;
}

crossrail_question question(std::uint64_t block_bytes, int size, const int* node_of = nullptr) {
  crossrail_question asked{};
  asked.collective = "alltoall";
  asked.block_bytes = block_bytes;
  asked.size = size;
  asked.node_of = node_of;
  asked.shared_segment = 1;
  asked.single_copy = 1;
  return asked;
}

JsonValue explained(const crossrail_question& asked) { return parsed(crossrail_explain(&asked)); }

TEST(Api, version) { EXPECT_STREQ(crossrail_version(), CROSSRAIL_TEST_VERSION); }

void expect_parameters(const std::vector<JsonValue>& found, const Algorithm& algorithm) {
  ASSERT_EQ(found.size(), algorithm.parameters.size()) << algorithm.name;
  for (std::size_t number = 0; number < found.size(); ++number) {
    const Parameter& declared = *algorithm.parameters[number];
    EXPECT_EQ(found[number]["name"].text, declared.name);
    EXPECT_EQ(found[number]["default"].number, static_cast<double>(declared.preset));
    EXPECT_EQ(found[number]["unit"].text, name_of(declared.unit));
    EXPECT_EQ(found[number]["values"].list.size(), declared.values.size());
    EXPECT_EQ(found[number]["help"].text, declared.help);
  }
}

TEST(Api, collectives_have_all_rows) {
  const JsonValue rows = parsed(crossrail_collectives());
  ASSERT_EQ(rows.list.size(), std::size(kCollectives));
  EXPECT_EQ(rows.list[0]["name"].text, "alltoall");
  EXPECT_EQ(rows.list[0]["counts"].text, "block");
  EXPECT_EQ(rows.list[0]["setting"].text, "CROSSRAIL_ALLTOALL");
  EXPECT_EQ(rows.list[0]["reduces"].kind, JsonValue::Kind::boolean);
  ASSERT_EQ(rows.list[0]["mpi"].list.size(), 3u);
  EXPECT_EQ(rows.list[0]["mpi"].list[2].text, "MPI_Alltoall_init");
  EXPECT_EQ(rows.list[1]["counts"].text, "vector");
  for (const JsonValue& one : rows.list) {
    bool is_setting = false;
    for (const SettingRow& row : setting_rows()) is_setting = is_setting || one["setting"].text == row.variable;
    EXPECT_TRUE(is_setting) << one["setting"].text;
  }
}

TEST(Api, catalogue_has_all_rows) {
  const JsonValue rows = parsed(crossrail_catalogue());
  std::size_t row = 0;
  for (const Collective collective : kCollectives) {
    for (const Memory memory : kMemories) {
      for (const Algorithm& algorithm : catalogue(collective, memory)) {
        ASSERT_LT(row, rows.list.size());
        EXPECT_EQ(rows.list[row]["collective"].text, name_of(collective));
        EXPECT_EQ(rows.list[row]["memory"].text, name_of(memory));
        EXPECT_EQ(rows.list[row]["name"].text, algorithm.name);
        EXPECT_EQ(rows.list[row]["summary"].text, algorithm.summary);
        expect_parameters(rows.list[row++]["parameters"].list, algorithm);
      }
    }
  }
  EXPECT_EQ(row, rows.list.size());
}

TEST(Api, settings_have_all_rows) {
  const JsonValue rows = parsed(crossrail_settings());
  ASSERT_EQ(rows.list.size(), setting_rows().size());
  for (std::size_t row = 0; row < rows.list.size(); ++row) {
    EXPECT_EQ(rows.list[row]["variable"].text, setting_rows()[row].variable);
    EXPECT_EQ(rows.list[row]["preset"].text, setting_rows()[row].preset);
    for (const char* name : {"kind", "scope", "value", "help"}) EXPECT_TRUE(rows.list[row].has(name));
  }
}

TEST(Explain, chooses_like_the_tables) {
  const JsonValue small = explained(question(64, 8));
  EXPECT_EQ(small["topology"].text, "8 ranks on 1 node");
  EXPECT_EQ(small["chosen"].text, "node_shared");
  EXPECT_GT(small["segment_bytes_per_node"].number, 0);
  EXPECT_EQ(small["candidates"].list[0]["algorithm"].text, "node_shared");
  EXPECT_EQ(small["candidates"].list.back()["algorithm"].text, "native");
  EXPECT_EQ(small["candidates"].list[0]["parameters"]["packet"].number, 512);
  EXPECT_EQ(small["candidates"].list[0]["parameters"]["chunk"].number, 32 * 1024) << "the default";
  EXPECT_EQ(small["warning"].text, "");
  EXPECT_EQ(explained(question(1 << 20, 8))["chosen"].text, "node_single_copy");
}

TEST(Explain, every_row_is_a_candidate_or_passed_over_with_a_reason) {
  const int two_nodes[] = {5, 5, 9};
  for (const int* node_of : {static_cast<const int*>(nullptr), two_nodes}) {
    const JsonValue answer = explained(question(64, 3, node_of));
    for (const Algorithm& row : catalogue(Collective::alltoall)) {
      int mentioned = 0;
      for (const auto& one : answer["candidates"].list) mentioned += one["algorithm"].text == row.name ? 1 : 0;
      for (const auto& one : answer["passed_over"].list) {
        mentioned += one["algorithm"].text == row.name ? 1 : 0;
        EXPECT_NE(one["why"].text, "");
      }
      EXPECT_GE(mentioned, 1) << row.name;
    }
  }
}

std::string why(const crossrail_question& asked, const char* algorithm) {
  const JsonValue answer = explained(asked);
  for (const auto& one : answer["passed_over"].list) {
    if (one["algorithm"].text == algorithm) return one["why"].text;
  }
  return "a candidate";
}

TEST(Explain, what_a_row_needs_is_said) {
  const int two_nodes[] = {0, 0, 1, 1};
  EXPECT_EQ(why(question(64, 4, two_nodes), "node_shared"), "does not fit: it needs all ranks on one node");
  EXPECT_EQ(why(question(64, 8), "pairwise"), "no row of the tuning tables names it for this layout and size");
  crossrail_question asked = question(2 << 20, 64);
  asked.collective = "gather";
  EXPECT_EQ(why(asked, "binomial"), "does not fit: it needs blocks of at most 1245184 bytes");
  asked = question(64, 8);
  asked.shared_segment = 0;
  EXPECT_EQ(why(asked, "node_shared"), "does not fit: it needs memory that the ranks of a node share");
  EXPECT_EQ(why(asked, "matrix_block"), "does not fit: it needs memory that the ranks of a node share");
  asked = question(64, 8);
  asked.single_copy = 0;
  EXPECT_EQ(why(asked, "node_single_copy"), "does not fit: it needs process_vm_readv");
  asked = question(64, 4, two_nodes);
  asked.shared_segment = 0;
  EXPECT_EQ(why(asked, "node_shared"), "does not fit: it needs all ranks on one node");
  EXPECT_EQ(why(question(64, 1), "node_shared"), "does not fit: it needs two or more ranks");
  asked = question(64, 4);
  asked.memory = "device";
  asked.collective = "allgather";
  EXPECT_EQ(why(asked, "ll128"), "does not fit: it needs a call in a stream's order");
}

TEST(Explain, memory_of_devices_and_streams) {
  crossrail_question asked = question(64, 4);
  for (const char* memory : {"device", "stream"}) {
    asked.memory = memory;
    const JsonValue answer = explained(asked);
    const bool in_stream = asked.memory[0] == 's';
    EXPECT_EQ(answer["chosen"].text, in_stream ? "ll128" : "ipc_kernel_push");
    EXPECT_EQ(answer["candidates"].list.back()["algorithm"].text, in_stream ? "ipc_kernel_push" : "native");
  }
  const int two_nodes[] = {0, 0, 1, 1};
  asked = question(64, 4, two_nodes);
  asked.memory = "stream";
  EXPECT_EQ(explained(asked)["chosen"].text, "none");
  EXPECT_NE(explained(asked)["warning"].text.find("on one node"), std::string::npos);
  asked.node_of = nullptr;
  asked.in_place = 1;
  EXPECT_EQ(explained(asked)["chosen"].text, "none");
  asked.in_place = 0;
  asked.ranks_per_device = 2;
  EXPECT_EQ(explained(asked)["chosen"].text, "none");
  asked = question(64, 4, two_nodes);
  asked.memory = "device";
  EXPECT_EQ(explained(asked)["chosen"].text, "pairwise");
  EXPECT_EQ(explained(asked)["candidates"].list[0]["parameters"]["piece"].number, 1 << 20);
}

TEST(Explain, several_nodes) {
  const int node_of[] = {5, 5, 9};
  const JsonValue answer = explained(question(64, 3, node_of));
  EXPECT_EQ(answer["topology"].text, "3 ranks on 2 nodes (2+1)");
  EXPECT_EQ(answer["chosen"].text, "leader_pipelined");
}

TEST(Explain, alltoallv_has_one_answer_for_all_sizes) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{64}, ~std::uint64_t{0}}) {
    crossrail_question asked = question(bytes, 8);
    asked.collective = "alltoallv";
    EXPECT_EQ(explained(asked)["chosen"].text, "node_shared");
  }
}

TEST(Explain, senseless_questions_are_errors) {
  EXPECT_NE(parsed(crossrail_explain(nullptr))["error"].text, "");
  crossrail_question asked = question(8, 0);
  EXPECT_NE(explained(asked)["error"].text, "");
  asked = question(8, -4);
  EXPECT_NE(explained(asked)["error"].text, "");
  asked = question(8, 4);
  asked.collective = "alltoal";
  EXPECT_NE(explained(asked)["error"].text, "");
  asked.collective = nullptr;
  EXPECT_NE(explained(asked)["error"].text, "");
}

TEST(Explain, the_mpi_library_has_a_short_name) {
  crossrail_question asked = question(8, 4);
  EXPECT_EQ(explained(asked)["mpi"].text, "");
  asked.mpi = "Open MPI v4.1.6, package: Debian";
  EXPECT_EQ(explained(asked)["mpi"].text, "openmpi4.1.6");
}

TEST(Explain, extremes_are_answered) {
  EXPECT_FALSE(explained(question(0, 1)).has("error"));
  EXPECT_FALSE(explained(question(~std::uint64_t{0}, 7000)).has("error"));
}

TEST(Api, texts_of_threads_do_not_mix) {
  const crossrail_question asked = question(64, 8);
  const char* const mine = crossrail_explain(&asked);
  const std::string before = mine;
  std::thread([] {
    const crossrail_question other = question(1 << 20, 3);
    (void)crossrail_explain(&other);
  }).join();
  EXPECT_EQ(before, mine);
}

}  // namespace
}  // namespace crossrail::tests
