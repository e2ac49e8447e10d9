// A garbage collector's signal reaches a thread on the thread's own stack only.

#include "base/stack_scanner.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include "base/thread_stack.h"
#include "tests/base/fiber_job.h"

namespace crossrail::tests {
namespace {

volatile int elsewhere = 0, on_own = 0;

void note_where(int) {
  const int here = 0;
  if (stack_of_thread().has(reinterpret_cast<std::uintptr_t>(&here))) on_own = on_own + 1;
  else elsewhere = elsewhere + 1;
}

// ThreadSanitizer brings signals a little later.
bool noted(int times) {
  constexpr int kLooks = 1000;
  for (int look = 0; look < kLooks && elsewhere + on_own < times; ++look) usleep(1000);
  return on_own == times && elsewhere == 0;
}

class StackScanner : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    (void)stack_of_thread();
    elsewhere = 0;
    on_own = 0;
    struct sigaction noted {};
    noted.sa_handler = note_where;
    ASSERT_EQ(sigaction(GetParam(), &noted, &before_), 0);
  }
  void TearDown() override {
    ASSERT_EQ(sigaction(GetParam(), &before_, nullptr), 0);
    look_for_stack_scanners();
  }
  struct sigaction before_ {};
};

TEST_P(StackScanner, waits_until_the_thread_has_left_the_fiber) {
  Fiber fiber;
  bool go_on = false;
  Job job{fiber, [&](Fiber& mine) {
            pthread_kill(pthread_self(), GetParam());
            EXPECT_EQ(elsewhere + on_own, 0);
            mine.wait_until([&] { return go_on; });
            pthread_kill(pthread_self(), GetParam());
          }};
  job.start();
  EXPECT_TRUE(noted(1));
  go_on = true;
  fiber.resume();
  EXPECT_TRUE(fiber.finished());
  EXPECT_TRUE(noted(2));
}

INSTANTIATE_TEST_SUITE_P(Signals, StackScanner, testing::Values(SIGPWR, SIGRTMIN));

// Other signals of the program's come at once, and nothing is asked of the kernel where there is no such handler.
TEST(WithoutScanner, signals_are_not_held) {
  look_for_stack_scanners();
  sigset_t before, within;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const HeldFromScanners held;
  pthread_sigmask(SIG_SETMASK, nullptr, &within);
  EXPECT_EQ(sigismember(&before, SIGPWR), sigismember(&within, SIGPWR));
}

}  // namespace
}  // namespace crossrail::tests
