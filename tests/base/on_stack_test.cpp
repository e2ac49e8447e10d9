#include "base/on_stack.h"

#include <gtest/gtest.h>

#include <csetjmp>
#include <thread>

namespace crossrail::tests {
namespace {

struct Scope : OnStack<Scope> {
  bool is_outermost() const { return outermost(); }
};

[[gnu::noinline]] int scopes() { return Scope::count(__builtin_frame_address(0)); }

[[gnu::noinline]] void within_one_more(int before) {
  const Scope inner;
  EXPECT_FALSE(inner.is_outermost());
  EXPECT_EQ(scopes(), 2 + before);
}

[[gnu::noinline]] void within_two(std::jmp_buf& leave, int before) {
  const Scope outer;
  EXPECT_EQ(scopes(), 1 + before);
  within_one_more(before);
  const Scope another;
  std::longjmp(leave, 1);
}

// These frames are as deep as those that were left, and deeper.
[[gnu::noinline]] int scopes_below(int frames) {
  volatile char some[200];
  for (volatile char& one : some) one = 1;
  return (frames == 0 ? scopes() : scopes_below(frames - 1)) + 0 * some[7];
}

TEST(OnStack, is_there_as_long_as_it_lives) {
  EXPECT_EQ(scopes(), 0);
  const Scope one;
  EXPECT_EQ(scopes(), 1);
  std::thread([] { EXPECT_EQ(scopes(), 0); }).join();
}

TEST(OnStack, is_not_there_once_it_has_been_left) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "between a frame's variables there is room that nobody writes to, where marks stay";
#endif
  static std::jmp_buf before;
  static int again;  // It is no register, which longjmp would restore.
  for (again = 0; again < 100; ++again) {
    if (setjmp(before) == 0) within_two(before, 0);
    EXPECT_EQ(scopes_below(again % 10), 0);
  }
  const Scope kept;
  if (setjmp(before) == 0) within_two(before, 1);
  EXPECT_EQ(scopes(), 1) << "what was before is still there";
  EXPECT_TRUE(kept.is_outermost());
}

TEST(OnStack, is_not_there_after_an_exception) {
  try {
    const Scope one;
    throw 1;
  } catch (int) {
    EXPECT_EQ(scopes(), 0);
  }
}

}  // namespace
}  // namespace crossrail::tests
