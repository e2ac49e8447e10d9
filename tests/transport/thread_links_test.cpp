// These tests check the simulated links themselves, on which the tests of algorithms stand.

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "virtual_world/thread_world.h"

namespace crossrail::tests {
namespace {

virtual_world::WorldOptions eager(std::size_t bytes) {
  virtual_world::WorldOptions options;
  options.links.eager_bytes = bytes;
  return options;
}

TEST(ThreadLinks, messages_between_two_ranks_keep_their_order) {
  for (const std::size_t eager_bytes : {0u, 4u, 1000u}) {
    virtual_world::world({0, 1}, eager(eager_bytes), [](Communicator& communicator) {
      Links& links = *communicator.slot().links;
      ASSERT_TRUE(links.open_messages().ok());
      const int peer = 1 - communicator.topology.rank;
      std::vector<std::uint64_t> out(100), in(100);
      std::iota(out.begin(), out.end(), 1000 * peer);
      for (std::size_t number = 0; number < out.size(); ++number) {
        ASSERT_TRUE(links.post_send(peer, &out[number], number % 2 == 0 ? 8 : 4).ok());
        ASSERT_TRUE(links.post_recv(peer, &in[number], number % 2 == 0 ? 8 : 4).ok());
      }
      ASSERT_TRUE(links.wait_posted().ok());
      for (std::size_t number = 0; number < in.size(); ++number) {
        EXPECT_EQ(in[number], 1000 * static_cast<unsigned>(communicator.topology.rank) + number);
      }
    });
  }
}

TEST(ThreadLinks, a_message_of_another_size_is_an_error) {
  virtual_world::world({0, 0}, eager(100), [](Communicator& communicator) {
    ASSERT_TRUE(communicator.slot().links->open_messages().ok());
    std::byte bytes[16] = {};
    if (communicator.topology.rank == 0) {
      ASSERT_TRUE(communicator.slot().links->post_send(1, bytes, 8).ok());
    } else {
      ASSERT_TRUE(communicator.slot().links->post_recv(0, bytes, 16).ok());
      EXPECT_EQ(communicator.slot().links->wait_posted().code, Code::mismatch);
    }
  });
}

TEST(ThreadLinks, a_receive_that_nothing_comes_for_is_a_deadlock) {
  virtual_world::WorldOptions options = eager(100);
  options.links.hang_after = std::chrono::milliseconds(300);
  virtual_world::world({0, 0}, options, [](Communicator& communicator) {
    ASSERT_TRUE(communicator.slot().links->open_messages().ok());
    std::byte bytes[16];
    ASSERT_TRUE(communicator.slot().links->post_recv(1 - communicator.topology.rank, bytes, 16).ok());
    const Status status = communicator.slot().links->wait_posted();
    EXPECT_TRUE(status.code == Code::system || status.code == Code::peer_lost) << status.what;
  });
}

TEST(ThreadLinks, a_long_send_waits_for_its_receive) {
  std::atomic<bool> received{false};
  virtual_world::world({0, 0}, eager(0), [&received](Communicator& communicator) {
    ASSERT_TRUE(communicator.slot().links->open_messages().ok());
    std::byte bytes[16] = {};
    if (communicator.topology.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (communicator.topology.rank == 0) {
      ASSERT_TRUE(communicator.slot().links->post_send(1, bytes, 16).ok());
    } else {
      received = true;
      ASSERT_TRUE(communicator.slot().links->post_recv(0, bytes, 16).ok());
    }
    EXPECT_TRUE(communicator.slot().links->wait_posted().ok());
    EXPECT_TRUE(received) << "did not wait";
  });
}

// The sender gives up. Its buffer is gone when the receiver comes.
TEST(ThreadLinks, a_message_of_a_rank_that_met_an_error_is_withdrawn) {
  std::atomic<bool> gone{false};
  virtual_world::world({0, 0, 0}, eager(0), [&gone](Communicator& communicator) {
    Links& links = *communicator.slot().links;
    ASSERT_TRUE(links.open_messages().ok());
    std::byte bytes[16] = {};
    if (communicator.topology.rank == 1) {
      const auto data = std::make_unique<std::byte[]>(16);
      ASSERT_TRUE(links.post_send(0, data.get(), 16).ok());
      ASSERT_TRUE(links.post_recv(2, bytes, 16).ok());
      EXPECT_EQ(links.wait_posted().code, Code::peer_lost);
      gone = true;
    } else if (communicator.topology.rank == 0) {
      while (!gone) std::this_thread::yield();
      ASSERT_TRUE(links.post_recv(1, bytes, 16).ok());
      EXPECT_FALSE(links.wait_posted().ok());
    }
  });
}

TEST(ThreadLinks, who_left_is_not_alive_and_not_waited_for) {
  virtual_world::world({0, 0, 0}, eager(0), [](Communicator& communicator) {
    ASSERT_TRUE(communicator.slot().links->open_messages().ok());
    if (communicator.topology.rank == 2) return;
    Code worst = Code::ok;
    EXPECT_EQ(communicator.slot().links->agree(Code::ok, worst).code, Code::peer_lost);
    EXPECT_FALSE(communicator.slot().links->alive(2));
    std::byte bytes[16];
    ASSERT_TRUE(communicator.slot().links->post_recv(2, bytes, 16).ok());
    EXPECT_EQ(communicator.slot().links->wait_posted().code, Code::peer_lost);
  });
}

TEST(ThreadLinks, agree_gives_the_worst_code_to_all) {
  virtual_world::world({0, 1, 2, 3, 4}, {}, [](Communicator& communicator) {
    for (int round = 0; round < 300; ++round) {
      Code worst = Code::system;
      const bool bad = communicator.topology.rank == round % 7;
      ASSERT_TRUE(communicator.slot().links->agree(bad ? Code::invalid : Code::ok, worst).ok());
      EXPECT_EQ(worst, round % 7 < 5 ? Code::invalid : Code::ok);
    }
  });
}

TEST(ThreadLinks, messages_before_opening_are_an_error) {
  virtual_world::world({0}, {}, [](Communicator& communicator) {
    EXPECT_FALSE(communicator.slot().links->post_send(0, nullptr, 0).ok());
    EXPECT_FALSE(communicator.slot().links->post_recv(0, nullptr, 0).ok());
  });
}

}  // namespace
}  // namespace crossrail::tests
