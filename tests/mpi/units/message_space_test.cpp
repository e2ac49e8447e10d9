// These tests check numbers and tags of communicators whose messages travel on the common private communicator.
#include "mpi/communicator/message_space.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi {
namespace {

constexpr std::uint64_t kName = 4711;

// Each test has one, not the process's.
CommonCommunicator& settled(int tag_limit, std::size_t* numbers = nullptr) {
  fake::forget_all();
  fake::set_tag_limit(tag_limit);
  static auto& all = *new std::deque<CommonCommunicator>;  // Numbers of one may outlive the test.
  CommonCommunicator& made = all.emplace_back();
  EXPECT_TRUE(made.claim());
  EXPECT_NE(made.settle(fake::communicator_of(0), kName, 3), nullptr);
  if (numbers != nullptr) *numbers = made.numbers();
  return made;
}

TEST(MessageSpace, OnlyOneMakesTheCommonCommunicator) {
  fake::forget_all();
  CommonCommunicator common;
  EXPECT_EQ(common.box(), nullptr);
  EXPECT_TRUE(common.claim());
  EXPECT_FALSE(common.claim());
  common.unclaim();
  EXPECT_TRUE(common.claim());
  Location mine{};
  mine.common_name = 1;
  EXPECT_EQ(common.number(mine).serial(), 0U);  // It is not settled.
  EXPECT_EQ(mine.common_name, 0U);
  EXPECT_NE(common.settle(fake::communicator_of(0), kName, 0), nullptr);
  EXPECT_FALSE(common.claim());
}

TEST(MessageSpace, ThereIsNoneWhereTagsAreTooFew) {
  fake::forget_all();
  CommonCommunicator common;
  fake::set_tag_limit(32767);
  EXPECT_FALSE(common.claim());
  fake::set_tag_limit(0);  // The library does not say.
  EXPECT_FALSE(common.claim());
  fake::set_tag_limit(2 * kTagsACommunicator - 1);
  EXPECT_TRUE(common.claim());
  EXPECT_EQ(common.numbers(), 2U);
}

TEST(MessageSpace, NumbersInUseAreDifferentAndSaidInTheLocation) {
  CommonCommunicator& common = settled(8 * kTagsACommunicator - 1);
  std::set<std::uint64_t> tags;
  std::vector<CommonNumber> held;
  for (int made = 0; made < 7; ++made) {  // The eighth is its maker's.
    Location mine{};
    held.push_back(common.number(mine));
    ASSERT_NE(held.back().serial(), 0U);
    EXPECT_EQ(mine.common_serial, held.back().serial());
    EXPECT_EQ(mine.common_name, kName);
    EXPECT_EQ(mine.common_rank, 3);
    tags.insert(mine.common_serial % common.numbers());
  }
  EXPECT_EQ(tags.size(), 7U);
  EXPECT_FALSE(tags.contains(0));
  Location mine{};
  EXPECT_EQ(common.number(mine).serial(), 0U);
  EXPECT_EQ(mine.common_serial, 0U);
  for (CommonNumber& one : held) one.retire();
}

TEST(MessageSpace, ThereAreNoNumbersAfterTheEnd) {
  CommonCommunicator& common = settled(8 * kTagsACommunicator - 1);
  common.end();
  Location mine{};
  EXPECT_EQ(common.number(mine).serial(), 0U);
}

std::vector<Location> locations_of(const std::vector<std::uint64_t>& serials, const std::vector<int>& ranks) {
  std::vector<Location> all(serials.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank].common_name = kName;
    all[rank].common_serial = serials[rank];
    all[rank].common_rank = ranks[rank];
  }
  return all;
}

TEST(MessageSpace, SendsWithTheNumberOfTheReceiver) {
  CommonCommunicator& process = CommonCommunicator::of_process();
  fake::forget_all();
  fake::set_tag_limit(10 * kTagsACommunicator - 1);
  ASSERT_TRUE(process.claim());
  ASSERT_NE(process.settle(fake::communicator_of(0), kName, 0), nullptr);
  CommonNumber own(5);
  const MessageSpace mixed = common_space(locations_of({5, 17, 2}, {4, 0, 1}), own);
  ASSERT_NE(mixed.box, nullptr);
  EXPECT_EQ(mixed.rank_of(0), 4);
  EXPECT_EQ(mixed.rank_of(2), 1);
  EXPECT_EQ(mixed.key_of(1), 17U);
  EXPECT_EQ(mixed.first_tag(mixed.key_of(1)), 7 * kTagsACommunicator);
  EXPECT_EQ(mixed.own_key, 5U);
  const MessageSpace alike = common_space(locations_of({5, 5}, {0, 1}), own);
  EXPECT_TRUE(alike.ranks.empty());
  EXPECT_TRUE(alike.keys.empty());
  EXPECT_EQ(alike.key_of(1), 5U);
  EXPECT_EQ(alike.rank_of(1), 1);
  auto strangers = locations_of({5, 5}, {0, 1});
  strangers[1].common_name = kName + 1;
  EXPECT_EQ(common_space(strangers, own).box, nullptr);
  strangers[0].common_name = strangers[1].common_name = 0;
  EXPECT_EQ(common_space(strangers, own).box, nullptr);
  own.retire();
}

TEST(MessageSpace, OneOfItsOwnHasAllTags) {
  const MessageSpace space = private_space(std::make_shared<NoticeBox>(fake::communicator_of(0)), 9);
  EXPECT_EQ(space.key_of(3), 9U);
  EXPECT_EQ(space.rank_of(3), 3);
  EXPECT_EQ(space.first_tag(9), 0);
}

}  // namespace
}  // namespace crossrail::mpi
