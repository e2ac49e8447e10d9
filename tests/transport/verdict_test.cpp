// These tests check what becomes of calls after an error on several nodes, from what each rank has said.

#include "transport/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace crossrail::tests {
namespace {

using On = Verdict::On;

On on(const std::vector<Statement>& said, std::uint64_t call) {
  Verdict verdict(static_cast<int>(said.size()));
  for (std::size_t rank = 0; rank < said.size(); ++rank) verdict.hear(static_cast<int>(rank), said[rank]);
  return verdict.on(call);
}

TEST(Verdict, waits_for_all_but_in_the_call_of_the_error_and_before) {
  Verdict verdict(3);
  EXPECT_FALSE(verdict.heard_any());
  EXPECT_EQ(verdict.on(1), On::unknown);
  verdict.hear(1, {5, 4, 0, 5});
  EXPECT_TRUE(verdict.heard_any());
  EXPECT_EQ(verdict.on(4), On::error);
  EXPECT_EQ(verdict.on(5), On::error);
  EXPECT_EQ(verdict.on(6), On::unknown);
  verdict.hear(1, {5, 4, 0, 5});
  verdict.hear(0, {6, 5, 0, 0});
  EXPECT_EQ(verdict.on(6), On::unknown) << "a rank was counted twice";
  verdict.hear(2, {6, 5, 0, 0});
  EXPECT_EQ(verdict.on(6), On::given_back);
}

TEST(Verdict, gives_back_at_once_what_another_rank_has_begun_natively) {
  Verdict verdict(3);
  verdict.hear(1, {5, 4, 0, 0, 5});
  EXPECT_EQ(verdict.on(5), On::given_back) << "the native rank says nothing before its call has ended";
  EXPECT_EQ(verdict.on(6), On::unknown);
  EXPECT_EQ(on({{5, 5, 0, 0, 0}, {5, 4, 0, 0, 5}, {5, 4, 0, 0, 0}}, 5), On::error) << "a rank has ended it";
}

TEST(Verdict, gives_back_the_last_call_and_all_later_ones) {
  const std::vector<Statement> said{{3, 2, 0, 3}, {7, 6, 0, 0}, {4, 3, 0, 0}};
  for (const std::uint64_t call : {3u, 4u, 5u, 6u}) EXPECT_EQ(on(said, call), On::error) << call;
  for (const std::uint64_t call : {7u, 8u, 99u}) EXPECT_EQ(on(said, call), On::given_back) << call;
}

TEST(Verdict, does_not_give_back_what_cannot_be_done_again_by_all) {
  EXPECT_EQ(on({{3, 2, 0, 3}, {4, 4, 0, 0}}, 4), On::error) << "ended by a rank";
  EXPECT_EQ(on({{3, 2, 0, 3}, {4, 3, 1, 0}}, 4), On::error) << "in place";
  EXPECT_EQ(on({{3, 2, 1, 3}, {4, 3, 0, 0}}, 4), On::given_back) << "another call was in place";
  EXPECT_EQ(on({{4, 3, 0, 4}, {4, 3, 0, 0}}, 4), On::error) << "the error was met in it";
  EXPECT_EQ(on({{3, 2, 0, 3}, {4, 4, 0, 0}}, 5), On::given_back);
}

TEST(Verdict, of_a_rank_that_waits_no_longer_is_an_error_for_all) {
  Verdict verdict(3);
  verdict.hear(0, {3, 2, 0, 3});
  verdict.hear(2, {5, 4, 0, 0});
  EXPECT_EQ(verdict.on(5), On::unknown);
  verdict.hear(2, {5, 4, 0, Verdict::kAllCalls});
  EXPECT_EQ(verdict.on(5), On::error);
  verdict.hear(1, {5, 4, 0, 0});
  EXPECT_EQ(verdict.on(1'000'000), On::error);
}

// In whatever order statements come, what is known at some time stays so. No call is given back that a rank has ended with its data or has met the
// error in. Calls given back come after those that are not.
TEST(Verdict, is_the_same_on_all_ranks) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Statement> said(2 + random() % 4);
    for (Statement& one : said) {
      one.begun = 1 + random() % 6;
      one.ended = one.begun - random() % 2;
      one.in_place = random() % 4 == 0 ? 1 : 0;
      one.met = one.ended < one.begun && random() % 3 == 0 ? one.begun : 0;
    }
    std::vector<int> order(said.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) order[rank] = static_cast<int>(rank);
    std::shuffle(order.begin(), order.end(), random);
    Verdict verdict(static_cast<int>(said.size()));
    for (const int rank : order) {
      for (std::uint64_t call = 1; call < 9; ++call) {
        EXPECT_TRUE(verdict.on(call) == On::unknown || verdict.on(call) == on(said, call)) << call;
      }
      verdict.hear(rank, said[static_cast<std::size_t>(rank)]);
    }
    bool given_back = false;
    for (std::uint64_t call = 1; call < 9; ++call) {
      ASSERT_NE(verdict.on(call), On::unknown);
      EXPECT_EQ(verdict.on(call), on(said, call)) << call;
      EXPECT_TRUE(!given_back || verdict.on(call) == On::given_back) << call;
      given_back = verdict.on(call) == On::given_back;
      for (const Statement& one : said) EXPECT_FALSE(given_back && (one.ended >= call || one.met >= call)) << call;
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace crossrail::tests
