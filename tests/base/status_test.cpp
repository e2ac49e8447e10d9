#include "base/status.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

namespace crossrail::tests {
namespace {

Status twice(bool fail, int& reached) {
  CROSSRAIL_TRY(fail ? failed(Code::system, "no") : Status{});
  ++reached;
  return {};
}

TEST(Status, is_ok_by_itself) {
  EXPECT_TRUE(Status{}.ok());
  EXPECT_STREQ(Status{}.what, "");
}

TEST(Status, try_returns_the_first_failure) {
  int reached = 0;
  EXPECT_TRUE(twice(false, reached).ok());
  EXPECT_EQ(twice(true, reached).code, Code::system);
  EXPECT_EQ(reached, 1);
}

TEST(Status, failure_takes_the_text_of_an_earlier_one) {
  const Status first = failure(Code::system, "the driver says %d", 7);
  const Status second = failure(Code::unsupported, "not mapped: %s", first.what);
  EXPECT_STREQ(second.what, "not mapped: the driver says 7");
  EXPECT_STREQ(failure(Code::unsupported, "%s", second.what).what, "not mapped: the driver says 7");
}

TEST(Status, failure_formats_and_cuts_long_texts) {
  EXPECT_STREQ(failure(Code::invalid, "%d of %s", 3, "four").what, "3 of four");
  const std::string longer(1000, 'x');
  EXPECT_LT(std::string(failure(Code::invalid, "%s", longer.c_str()).what).size(), 400u);
}

TEST(Status, texts_of_threads_do_not_mix) {
  const Status mine = failure(Code::invalid, "mine");
  std::thread([] { EXPECT_STREQ(failure(Code::invalid, "other").what, "other"); }).join();
  EXPECT_STREQ(mine.what, "mine");
}

TEST(Status, ranks_agree_on_the_worst_with_a_maximum) {
  for (const Code code : {Code::unsupported, Code::no_memory, Code::invalid, Code::mismatch, Code::peer_lost,
                          Code::revoked, Code::broken, Code::system}) {
    EXPECT_EQ(std::max(Code::ok, code), code);
  }
}

}  // namespace
}  // namespace crossrail::tests
