#include "base/roomy_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdint>

namespace crossrail::tests {
namespace {

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

bool runs_on_this_stack(std::size_t bytes) {
  constexpr std::uintptr_t kNear = 64 << 10;
  const std::uintptr_t outside = here();
  std::uintptr_t inside = 0;
  auto job = [&] { inside = here(); };
  run_with_room(bytes, job);
  EXPECT_NE(inside, 0u);
  return outside - inside < kNear;
}

void* use_more_than_there_is(void*) {
  constexpr std::size_t kWanted = 256 << 10;
  EXPECT_TRUE(runs_on_this_stack(16 << 10));
  EXPECT_FALSE(runs_on_this_stack(kWanted));
  auto job = [] {
    volatile char large[kWanted - (16 << 10)];
    for (std::size_t at = 0; at < sizeof large; at += 64) large[at] = 1;
  };
  run_with_room(kWanted, job);
  return nullptr;
}

TEST(RoomyStack, TheCallersWhereItHasRoom) { EXPECT_TRUE(runs_on_this_stack(256 << 10)); }

TEST(RoomyStack, OneOfItsOwnInAThreadWithLittle) {
  constexpr std::size_t kStackBytes = 128 << 10;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, use_more_than_there_is, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  ASSERT_EQ(pthread_attr_destroy(&attributes), 0);
}

}  // namespace
}  // namespace crossrail::tests
