#include "base/fiber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/fiber_job.h"

namespace crossrail::tests {
namespace {

TEST(Fiber, a_job_that_does_not_wait_has_finished_at_once) {
  Fiber fiber;
  ASSERT_TRUE(fiber.usable());
  EXPECT_TRUE(fiber.finished());
  int ran = 0;
  Job job{fiber, [&](Fiber&) { ++ran; }};
  job.start();
  EXPECT_TRUE(fiber.finished());
  fiber.resume();  // There is nothing to resume.
  EXPECT_EQ(ran, 1);
}

TEST(Fiber, goes_on_when_its_condition_is_true_and_not_before) {
  Fiber fiber;
  int stage = 0, allowed = 0, asked = 0;
  Job job{fiber, [&](Fiber& mine) {
            for (stage = 1; stage < 4; ++stage) {
              mine.wait_until([&] {
                ++asked;
                return allowed >= stage;
              });
            }
          }};
  job.start();
  for (int step = 1; step < 4; ++step) {
    EXPECT_EQ(stage, step);
    for (int again = 0; again < 3; ++again) fiber.resume();
    EXPECT_EQ(stage, step);
    EXPECT_FALSE(fiber.finished());
    allowed = step;
    fiber.resume();
  }
  EXPECT_TRUE(fiber.finished());
  EXPECT_EQ(asked, 3 * 4);
}

TEST(Fiber, keeps_what_lies_on_its_stack) {
  Fiber fiber;
  std::string result;
  Job job{fiber, [&](Fiber& mine) {
            std::string local = "kept";
            const std::vector<int> numbers{1, 2, 3};
            mine.wait_until([] { return true; });
            for (const int one : numbers) local += std::to_string(one);
            result = local;
          }};
  job.start();
  std::array<char, 4096> noise;  // It lies where a stack that was not its own would be overwritten.
  noise.fill(0x55);
  EXPECT_EQ(noise[17], 0x55);
  fiber.resume();
  EXPECT_EQ(result, "kept123");
}

TEST(Fiber, is_reused_many_times) {
  Fiber fiber;
  int finished = 0;
  for (int round = 0; round < 10'000; ++round) {
    bool ready = false;
    Job job{fiber, [&](Fiber& mine) {
              if (round % 3 != 0) mine.wait_until([&] { return ready; });
              ++finished;
            }};
    job.start();
    EXPECT_EQ(fiber.finished(), round % 3 == 0);
    ready = true;
    fiber.resume();
    ASSERT_TRUE(fiber.finished());
  }
  EXPECT_EQ(finished, 10'000);
}

TEST(Fiber, is_resumed_by_other_threads) {
  Fiber fiber;
  std::vector<std::thread::id> seen;
  Job job{fiber, [&](Fiber& mine) {
            int sum = 0;
            for (int step = 0; step < 8; ++step) {
              mine.wait_until([] { return true; });
              seen.push_back(std::this_thread::get_id());
              sum += step;
            }
            EXPECT_EQ(sum, 28);
          }};
  std::thread([&] { job.start(); }).join();  // The thread that began it is gone.
  std::vector<std::thread::id> resumers;
  for (int step = 0; step < 8; ++step) {
    std::thread thread([&] { fiber.resume(); });
    resumers.push_back(thread.get_id());
    thread.join();
  }
  EXPECT_TRUE(fiber.finished());
  EXPECT_EQ(seen, resumers);
}

// Two fibers hand a word to and fro. A thread of its own resumes each, and so does the other's thread in turn.
TEST(Fiber, two_of_two_threads_at_the_same_time) {
  constexpr int kRounds = 2000;
  std::atomic<int> turn{0};
  const auto play = [&](int mine) {
    Fiber fiber;
    Job job{fiber, [&, mine](Fiber& own) {
              for (int round = 0; round < kRounds; ++round) {
                own.wait_until([&] { return turn.load(std::memory_order_acquire) % 2 == mine; });
                turn.fetch_add(1, std::memory_order_acq_rel);
              }
            }};
    job.start();
    while (!fiber.finished()) {
      fiber.resume();
      std::this_thread::yield();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

// Frames have a kilobyte each. The fiber waits at the bottom and on the way up.
int dive(Fiber& fiber, int depth) {
  volatile char frame[1024];
  for (std::size_t at = 0; at < sizeof frame; at += 64) frame[at] = static_cast<char>(depth);
  if (depth == 0) {
    fiber.wait_until([] { return true; });
    return 0;
  }
  const int below = dive(fiber, depth - 1);
  if (depth % 100 == 0) fiber.wait_until([] { return true; });
  for (std::size_t at = 0; at < sizeof frame; at += 64) {
    if (frame[at] != static_cast<char>(depth)) return -1'000'000;
  }
  return below + 1;
}

TEST(Fiber, has_a_deep_stack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kDepth = 300;
#else
  constexpr int kDepth = 700;
#endif
  Fiber fiber;
  int result = 0;
  Job job{fiber, [&](Fiber& mine) { result = dive(mine, kDepth); }};
  for (int again = 0; again < 3; ++again) {
    job.start();
    while (!fiber.finished()) fiber.resume();
    EXPECT_EQ(result, kDepth);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Fiber, stops_where_its_stack_ends) {
  const auto overflow = [] {
    Fiber fiber;
    Job job{fiber, [&](Fiber& mine) { (void)dive(mine, 16000); }};
    job.start();
  };
  EXPECT_DEATH(overflow(), "");
}
#endif

TEST(Fiber, many_in_a_random_order) {
  constexpr int kFibers = 500, kWaits = 20;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Job> jobs;
  std::vector<int> done(kFibers);
  jobs.reserve(kFibers);
  for (int number = 0; number < kFibers; ++number) {
    fibers.push_back(std::make_unique<Fiber>());
    ASSERT_TRUE(fibers.back()->usable());
    jobs.push_back({*fibers.back(), [&done, number](Fiber& mine) {
                      int local = number;
                      for (int wait = 0; wait < kWaits; ++wait) {
                        mine.wait_until([] { return true; });
                        ++local;
                      }
                      done[static_cast<std::size_t>(number)] = local - number;
                    }});
  }
  for (Job& job : jobs) job.start();
  std::mt19937 random(3);
  for (int left = kFibers * kWaits; left > 0;) {
    Fiber& one = *fibers[random() % kFibers];
    if (one.finished()) continue;
    one.resume();
    --left;
  }
  EXPECT_EQ(std::count(done.begin(), done.end(), kWaits), kFibers);
}

// A fiber is resumed from another one's job. The one inside goes back to the one outside.
TEST(Fiber, resumes_another) {
  Fiber outer, inner;
  std::string order;
  Job within{inner, [&](Fiber& mine) {
               order += "a";
               mine.wait_until([] { return true; });
               order += "d";
             }};
  Job around{outer, [&](Fiber& mine) {
               within.start();
               order += "b";
               mine.wait_until([] { return true; });
               inner.resume();
               order += "e";
             }};
  around.start();
  order += "c";
  outer.resume();
  EXPECT_EQ(order, "abcde");
  EXPECT_TRUE(inner.finished() && outer.finished());
}

// What is dropped where it stands leaves nothing behind that the next one could stumble over.
TEST(Fiber, can_be_dropped_while_it_waits) {
  for (int round = 0; round < 300; ++round) {
    Fiber fiber;
    Job job{fiber, [&](Fiber& mine) {
              std::array<int, 2048> frame;
              frame.fill(round);
              mine.wait_until([&] { return frame[17] < 0; });
            }};
    job.start();
    EXPECT_FALSE(fiber.finished());
  }
  Fiber fiber;
  Job job{fiber, [](Fiber& mine) { EXPECT_EQ(dive(mine, 50), 50); }};
  job.start();
  while (!fiber.finished()) fiber.resume();
}

TEST(Fiber, exceptions_stay_inside) {
  Fiber fiber;
  std::string caught;
  Job job{fiber, [&](Fiber& mine) {
            try {
              mine.wait_until([] { return true; });
              throw std::runtime_error("inside");
            } catch (const std::exception& one) {
              mine.wait_until([] { return true; });
              caught = one.what();
            }
          }};
  job.start();
  fiber.resume();
  EXPECT_THROW(throw std::runtime_error("outside"), std::runtime_error);
  fiber.resume();
  EXPECT_EQ(caught, "inside");
}

TEST(Fiber, is_held_before_every_wait_where_tests_want_it) {
  static int asked;
  asked = 0;
  Fiber::released = [] { return ++asked % 3 == 0; };
  Fiber fiber;
  int passed = 0;
  Job job{fiber, [&](Fiber& mine) {
            for (int wait = 0; wait < 4; ++wait) {
              mine.before_wait();
              ++passed;
            }
          }};
  job.start();
  EXPECT_EQ(passed, 0);
  while (!fiber.finished()) fiber.resume();
  Fiber::released = nullptr;
  EXPECT_EQ(passed, 4);
  EXPECT_EQ(asked, 12);
}

}  // namespace
}  // namespace crossrail::tests
