// File descriptors go between processes, by both ways; here from this process to itself and to a child.

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_sharing/descriptors.h"

namespace crossrail::tests {
namespace {

// These files hold their own number.
Chunks make_chunks(std::size_t count) {
  Chunks chunks;
  for (std::size_t number = 0; number < count; ++number) {
    const int file = memfd_create("chunk", MFD_CLOEXEC);
    EXPECT_EQ(pwrite(file, &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
    chunks.push_back({1000 + number, file, 0});
  }
  return chunks;
}

bool same_files(const Chunks& chunks, std::size_t count) {
  bool same = chunks.size() == count;
  for (std::size_t number = 0; same && number < count; ++number) {
    std::size_t found = ~std::size_t{0};
    same = pread(chunks[number].descriptor, &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) && found == number &&
           chunks[number].bytes == 1000 + number;
  }
  return same;
}

TEST(Descriptors, come_through_the_socket_in_parcels_of_any_size) {
  std::uint64_t version = 0;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{65}, std::size_t{200}}) {
    Chunks sent = make_chunks(count), taken;
    const ParcelLabel label{random_number(), 1, 2, ++version};
    ASSERT_TRUE(send_descriptors(descriptor_socket(), label, sent).ok());
    ParcelLabel other = label;
    other.rank = 7;
    EXPECT_FALSE(take_descriptors(other, count, taken).ok());
    ASSERT_TRUE(take_descriptors(label, count, taken).ok());
    close_descriptors(sent);
    EXPECT_TRUE(same_files(taken, count)) << count;
    close_descriptors(taken);
    EXPECT_FALSE(take_descriptors(label, count, taken).ok()) << "taken already";
  }
}

TEST(Descriptors, that_are_fewer_than_promised_are_refused) {
  Chunks sent = make_chunks(3), taken;
  const ParcelLabel label{random_number(), 0, 0, 1};
  ASSERT_TRUE(send_descriptors(descriptor_socket(), label, sent).ok());
  EXPECT_FALSE(take_descriptors(label, 4, taken).ok());
  EXPECT_TRUE(taken.empty());
  EXPECT_FALSE(send_descriptors(random_number(), label, sent).ok()) << "nobody has that socket";
  EXPECT_FALSE(send_descriptors(0, label, sent).ok());
  close_descriptors(sent);
}

TEST(Descriptors, are_fetched_from_a_process_that_may_be_traced) {
  Chunks made = make_chunks(5), fetched;
  int list = list_descriptors(made);
  ASSERT_GE(list, 0);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) _exit(fetch_descriptors(parent, list, 5, fetched).ok() && same_files(fetched, 5) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  // Where a child may not trace its parent, the process may at least look at itself.
  if (status != 0) {
    ASSERT_TRUE(fetch_descriptors(parent, list, 5, fetched).ok());
    EXPECT_TRUE(same_files(fetched, 5));
    close_descriptors(fetched);
  }
  close(list);
  EXPECT_FALSE(fetch_descriptors(parent, list, 5, fetched).ok()) << "the list is gone";
  EXPECT_TRUE(fetched.empty());
  close_descriptors(made);
}

}  // namespace
}  // namespace crossrail::tests
