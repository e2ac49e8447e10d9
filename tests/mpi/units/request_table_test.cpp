// These tests find requests of ours by their handles.
#include "mpi/requests/request_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi {
namespace {

OurRequest* call_number(std::uintptr_t number) { return reinterpret_cast<OurRequest*>(number * 64); }

TEST(RequestTable, FindsWhatIsRememberedAndNothingElse) {
  EXPECT_FALSE(any_requests());
  EXPECT_EQ(find_request(fake::next_request()), nullptr);
  LiveRequest one{fake::next_request()}, other{fake::next_request()};
  one.call = call_number(1);
  other.call = call_number(2);
  remember_request(one);
  remember_request(other);
  EXPECT_TRUE(any_requests());
  EXPECT_EQ(find_request(one.request), call_number(1));
  EXPECT_EQ(find_live_request(other.request), &other);
  EXPECT_EQ(find_request(fake::next_request()), nullptr);
  forget_request(one);
  EXPECT_EQ(find_live_request(one.request), nullptr);
  EXPECT_EQ(find_request(other.request), call_number(2));
  forget_request(other);
  EXPECT_FALSE(any_requests());
}

TEST(RequestTable, ARequestWithoutACallIsFoundWithoutOne) {
  LiveRequest inactive{fake::next_request()};
  remember_request(inactive);
  EXPECT_EQ(find_live_request(inactive.request), &inactive);
  EXPECT_EQ(find_request(inactive.request), nullptr);
  forget_request(inactive);
}

TEST(RequestTable, GrowsAndFindsAllOfThem) {
  std::deque<LiveRequest> many;
  for (std::uintptr_t number = 0; number < 5000; ++number) {
    LiveRequest& made = many.emplace_back();
    made.request = fake::next_request();
    made.call = call_number(number + 1);
    remember_request(made);
  }
  for (std::size_t number = 0; number < many.size(); ++number) ASSERT_EQ(find_request(many[number].request), call_number(number + 1));
  for (std::size_t number = 0; number < many.size(); number += 2) forget_request(many[number]);
  for (std::size_t number = 0; number < many.size(); ++number) {
    ASSERT_EQ(find_live_request(many[number].request), number % 2 == 0 ? nullptr : &many[number]);
  }
  for (std::size_t number = 1; number < many.size(); number += 2) forget_request(many[number]);
  EXPECT_FALSE(any_requests());
}

TEST(RequestTable, AHandleThatComesBackIsTheNewRequest) {
  const MPI_Request handle = fake::next_request();
  for (std::uintptr_t round = 1; round < 2000; ++round) {
    LiveRequest again{handle};
    again.call = call_number(round);
    remember_request(again);
    ASSERT_EQ(find_request(handle), call_number(round));
    forget_request(again);
    ASSERT_EQ(find_request(handle), nullptr);
  }
}

TEST(RequestTable, OthersMayLookWhileItChanges) {
  LiveRequest stays{fake::next_request()};
  stays.call = call_number(7);
  remember_request(stays);
  std::vector<MPI_Request> handles(3000);
  for (MPI_Request& handle : handles) handle = fake::next_request();
  std::atomic<bool> over{false};
  std::atomic<int> looks{0}, wrong{0};
  std::thread reader([&] {
    while (!over || looks == 0) {
      wrong += find_request(stays.request) != call_number(7) ? 1 : 0;
      ++looks;
    }
  });
  std::deque<LiveRequest> made;
  for (const MPI_Request handle : handles) {
    made.emplace_back().request = handle;
    remember_request(made.back());
    if (made.size() % 3 == 0) {
      forget_request(made.front());
      made.pop_front();
    }
  }
  over = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  for (const LiveRequest& one : made) forget_request(one);
  forget_request(stays);
  EXPECT_FALSE(any_requests());
}

}  // namespace
}  // namespace crossrail::mpi
