// These tests check what working memory is kept from one call to the next.

#include <gtest/gtest.h>

#include "comm/communicator.h"

namespace crossrail::tests {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(PackingMemory, what_is_large_is_kept_while_calls_stage_as_much) {
  PackingMemory memory;
  ASSERT_TRUE(memory.reserve_staged(memory.staged_send, 16 * kMiB).ok());
  ASSERT_TRUE(memory.packed.reserve(16 * kMiB).ok());
  memory.shrink();
  EXPECT_EQ(memory.packed.bytes, 0u);
  const std::byte* const first = memory.staged_send.memory.get();
  for (int call = 0; call < 200; ++call) {
    if (call % 50 == 0) {
      ASSERT_TRUE(memory.reserve_staged(memory.staged_send, 16 * kMiB).ok());
    }
    EXPECT_EQ(memory.staged_send.memory.get(), first);
    memory.shrink();
  }
}

TEST(PackingMemory, what_is_large_goes_when_no_call_needs_it) {
  PackingMemory memory;
  ASSERT_TRUE(memory.reserve_staged(memory.staged_recv, 16 * kMiB).ok());
  memory.shrink();
  int calls = 0;
  for (; memory.staged_recv.bytes > 0 && calls < 1000; ++calls) {
    ASSERT_TRUE(memory.reserve_staged(memory.staged_recv, kMiB).ok());
    memory.shrink();
  }
  EXPECT_GT(calls, 10);
  EXPECT_LT(calls, 1000);
}

TEST(PackingMemory, what_is_very_large_is_not_kept) {
  PackingMemory memory;
  ASSERT_TRUE(memory.reserve_staged(memory.staged_recv, 257 * kMiB).ok());
  memory.shrink();
  EXPECT_EQ(memory.staged_recv.bytes, 0u);
}

TEST(PackingMemory, what_is_small_stays) {
  PackingMemory memory;
  ASSERT_TRUE(memory.reserve_staged(memory.staged_recv, kMiB).ok());
  ASSERT_TRUE(memory.packed.reserve(kMiB).ok());
  for (int call = 0; call < 200; ++call) memory.shrink();
  EXPECT_EQ(memory.staged_recv.bytes, kMiB);
  EXPECT_EQ(memory.packed.bytes, kMiB);
}

}  // namespace
}  // namespace crossrail::tests
