#include "base/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <set>
#include <vector>

namespace crossrail::tests {
namespace {

TEST(Bytes, round_up) {
  EXPECT_EQ(round_up(0, 64), 0u);
  EXPECT_EQ(round_up(1, 64), 64u);
  EXPECT_EQ(round_up(64, 64), 64u);
  EXPECT_EQ(round_up(65, 64), 128u);
}

TEST(Bytes, hash_is_fnv_1a) {
  EXPECT_EQ(hash_bytes("", 0), 0xcbf29ce484222325ull);
  EXPECT_EQ(hash_bytes("a", 1), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(hash_bytes("foobar", 6), 0x85944171f73967e8ull);
  const std::uint64_t word = 0x0102030405060708ull;
  EXPECT_EQ(hash_word(kHashSeed, word), hash_bytes(&word, sizeof word));
}

TEST(Bytes, copy_block_copies_every_size_and_no_more) {
  for (std::size_t bytes = 0; bytes < 200; ++bytes) {
    std::vector<unsigned char> from(bytes), to(bytes + 2, 0xCC);
    for (std::size_t at = 0; at < bytes; ++at) from[at] = static_cast<unsigned char>(at + bytes);
    copy_block(to.data() + 1, from.data(), bytes);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << bytes;
    EXPECT_EQ(to.front(), 0xCC);
    EXPECT_EQ(to.back(), 0xCC);
  }
}

}  // namespace
}  // namespace crossrail::tests
