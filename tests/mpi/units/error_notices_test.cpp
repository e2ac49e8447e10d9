// These tests check what ranks that share no segment tell each other. The ranks run one after the other on one thread.
#include "mpi/communicator/error_notices.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi {
namespace {

constexpr std::uint64_t kShape = 11, kOtherShape = 12, kKey = 99;
using Met = ErrorNotices::Met;

class Notices : public testing::Test {
 protected:
  void open(int size) {
    fake::forget_all();
    for (int rank = 0; rank < size; ++rank) {
      ranks.push_back(std::make_unique<ErrorNotices>(
          ErrorNotices::Place{private_space(std::make_shared<NoticeBox>(fake::communicator_of(rank)), kKey), CommonNumber(), rank, size}));
    }
  }
  void begin(int rank, std::uint64_t number, std::uint64_t shape = kShape, std::uint64_t bytes = 8) { at(rank).begin_call(0, {number, shape, bytes, 0}); }
  Status look(int rank, const std::vector<int>& awaited = {}) { return at(rank).look(0, awaited); }
  ErrorNotices& at(int rank) { return *ranks[static_cast<std::size_t>(rank)]; }
  std::vector<std::unique_ptr<ErrorNotices>> ranks;
};

TEST_F(Notices, NothingIsSentWhileCallsGoWell) {
  open(3);
  for (std::uint64_t call = 1; call < 100; ++call) {
    for (int rank = 0; rank < 3; ++rank) {
      begin(rank, call);
      EXPECT_TRUE(at(rank).end_call(0));
    }
  }
  EXPECT_EQ(fake::messages_under_way(), 0U);
}

TEST_F(Notices, WhoWaitsAsksOnceACall) {
  open(2);
  begin(0, 1);
  for (int again = 0; again < 5; ++again) EXPECT_TRUE(look(0, {1}).ok());
  EXPECT_EQ(fake::messages_under_way(), 1U);
  EXPECT_FALSE(at(0).drain());  // Nobody has received it.
  begin(1, 1);
  EXPECT_TRUE(look(1).ok());
  EXPECT_TRUE(at(0).drain());
}

TEST_F(Notices, WhoHasGoneOnAnswers) {
  open(2);
  begin(0, 1);
  EXPECT_TRUE(look(0, {1}).ok());
  EXPECT_FALSE(at(0).is_ahead(0, 1));
  begin(1, 1);
  EXPECT_TRUE(at(1).end_call(0));
  begin(1, 2);
  EXPECT_TRUE(look(1).ok());  // It reads the question, and answers.
  EXPECT_TRUE(look(0, {1}).ok());
  EXPECT_FALSE(at(0).is_ahead(0, 1));  // Its messages may come behind the answer ...
  EXPECT_TRUE(look(0, {1}).ok());
  EXPECT_TRUE(at(0).is_ahead(0, 1));  // ... but they may not come a whole look later.
}

TEST_F(Notices, CallsThatAreUnlikeAreFound) {
  open(2);
  begin(0, 1, kShape, 8);
  begin(1, 1, kOtherShape, 12);
  EXPECT_TRUE(look(0, {1}).ok());
  const Status found = look(1);
  EXPECT_EQ(found.code, Code::mismatch);
  EXPECT_NE(std::string(found.what).find("rank 1"), std::string::npos) << found.what;
  EXPECT_NE(std::string(found.what).find("12"), std::string::npos) << found.what;
}

TEST_F(Notices, LaterCallsOfOtherShapesAreNoMismatch) {
  open(2);
  begin(0, 1);
  begin(1, 1);
  EXPECT_TRUE(at(1).end_call(0));
  begin(1, 2, kOtherShape);
  EXPECT_TRUE(look(1, {0}).ok());
  EXPECT_TRUE(look(0, {1}).ok());
}

TEST_F(Notices, AnErrorIsToldToAll) {
  open(3);
  for (int rank = 0; rank < 3; ++rank) begin(rank, 1);
  at(1).report_error(0, Code::peer_lost, Met::here);
  EXPECT_EQ(look(0).code, Code::peer_lost);
  EXPECT_EQ(look(2).code, Code::peer_lost);
  EXPECT_TRUE(at(0).messages_left());
  EXPECT_FALSE(at(1).end_call(0));  // It has said that it had not ended.
  const std::size_t before = fake::messages_under_way();
  at(1).report_error(0, Code::broken, Met::here);  // It reports once.
  EXPECT_EQ(fake::messages_under_way(), before);
}

// The first error stays the one that is told.
TEST_F(Notices, TheFirstErrorCounts) {
  open(3);
  for (int rank = 0; rank < 3; ++rank) begin(rank, 1);
  at(1).report_error(0, Code::peer_lost, Met::here);
  EXPECT_EQ(look(2).code, Code::peer_lost);
  at(0).report_error(0, Code::system, Met::here);
  EXPECT_EQ(look(2).code, Code::peer_lost);
}

TEST_F(Notices, TheCallInWhichItWasMetEndsWithTheError) {
  open(2);
  for (int rank = 0; rank < 2; ++rank) begin(rank, 1);
  at(0).report_error(0, Code::mismatch, Met::here);
  EXPECT_EQ(look(1).code, Code::mismatch);
  EXPECT_EQ(at(1).judge(0).code, Code::broken);
  EXPECT_EQ(at(0).judge(0).code, Code::broken);
}

TEST_F(Notices, ACallThatNobodyHadBegunIsGivenBack) {
  open(2);
  for (int rank = 0; rank < 2; ++rank) {
    begin(rank, 1);
    EXPECT_TRUE(at(rank).end_call(0));
  }
  constexpr std::size_t kPending = 1;
  at(0).begin_call(kPending, {1, kShape, 8, 0});
  at(0).report_error(kPending, Code::peer_lost, Met::on_another_slot);
  EXPECT_EQ(look(1).code, Code::peer_lost);
  at(1).report_error(0, Code::peer_lost, Met::on_another_slot);
  constexpr std::int64_t kLong = 60'000'000'000;
  for (int rank = 0; rank < 2; ++rank) {
    begin(rank, 2);
    EXPECT_EQ(at(rank).judge(kLong).code, Code::given_back) << rank;
  }
}

}  // namespace
}  // namespace crossrail::mpi
