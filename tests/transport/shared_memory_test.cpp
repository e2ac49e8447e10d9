#include "transport/shared_memory.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>

#include "topology/topology.h"

namespace crossrail::tests {
namespace {

std::set<std::string> names_in(const char* folder, const char* beginning) {
  std::set<std::string> names;
  DIR* directory = opendir(folder);
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (std::string(entry->d_name).rfind(beginning, 0) == 0) names.insert(entry->d_name);
  }
  closedir(directory);
  return names;
}

std::size_t descriptor_count() { return names_in("/proc/self/fd", "").size(); }

class Kind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(shared_memory, Kind, testing::Values("memfd", "shm"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(Kind, what_one_writes_the_other_reads) {
  constexpr std::size_t kBytes = 100'000;
  SharedMemory mine, theirs;
  ASSERT_TRUE(mine.create(GetParam(), kBytes).ok());
  ASSERT_TRUE(theirs.attach(mine.address()).ok());
  EXPECT_NE(mine.data(), theirs.data());
  EXPECT_EQ(theirs.bytes(), kBytes);
  for (std::size_t at = 8; at < kBytes; ++at) ASSERT_EQ(theirs.data()[at], std::byte{0}) << at;
  mine.data()[kBytes - 1] = std::byte{42};
  EXPECT_EQ(theirs.data()[kBytes - 1], std::byte{42});
}

TEST_P(Kind, another_process_attaches) {
  SharedMemory mine;
  ASSERT_TRUE(mine.create(GetParam(), 5000).ok());
  const SharedMemoryAddress address = mine.address();
  const pid_t child = fork();
  if (child == 0) {
    SharedMemory theirs;
    const bool attached = theirs.attach(address).ok();
    if (attached) theirs.data()[4000] = std::byte{7};
    _exit(attached ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine.data()[4000], std::byte{7});
}

TEST_P(Kind, sealed_memory_still_works_and_leaves_nothing_behind) {
  const auto names = names_in("/dev/shm", "crossrail.");
  const std::size_t descriptors = descriptor_count();
  {
    SharedMemory mine, theirs;
    ASSERT_TRUE(mine.create(GetParam(), 5000).ok());
    ASSERT_TRUE(theirs.attach(mine.address()).ok());
    mine.seal();
    theirs.seal();
    EXPECT_EQ(names_in("/dev/shm", "crossrail."), names);
    EXPECT_EQ(descriptor_count(), descriptors);
    mine.data()[100] = std::byte{1};
    EXPECT_EQ(theirs.data()[100], std::byte{1});
    SharedMemory late;
    EXPECT_FALSE(late.attach(mine.address()).ok()) << "too late";
    EXPECT_EQ(late.data(), nullptr);
  }
  EXPECT_EQ(names_in("/dev/shm", "crossrail."), names);
  EXPECT_EQ(descriptor_count(), descriptors);
}

TEST_P(Kind, never_sealed_leaves_nothing_behind_either) {
  const auto names = names_in("/dev/shm", "crossrail.");
  const std::size_t descriptors = descriptor_count();
  {
    SharedMemory mine;
    ASSERT_TRUE(mine.create(GetParam(), 5000).ok());
    ASSERT_TRUE(mine.create(GetParam(), 6000).ok()) << "again";
    EXPECT_EQ(mine.bytes(), 6000u);
  }
  EXPECT_EQ(names_in("/dev/shm", "crossrail."), names);
  EXPECT_EQ(descriptor_count(), descriptors);
}

TEST_P(Kind, a_wrong_nonce_or_size_is_refused) {
  SharedMemory mine, theirs;
  ASSERT_TRUE(mine.create(GetParam(), 8192).ok());
  const std::size_t descriptors = descriptor_count();
  SharedMemoryAddress wrong = mine.address();
  wrong.nonce ^= 1;
  EXPECT_EQ(theirs.attach(wrong).code, Code::system);
  EXPECT_EQ(theirs.data(), nullptr);
  wrong = mine.address();
  wrong.bytes += 4096;
  EXPECT_EQ(theirs.attach(wrong).code, Code::system);
  EXPECT_EQ(theirs.data(), nullptr);
  EXPECT_EQ(descriptor_count(), descriptors);
  EXPECT_TRUE(theirs.attach(mine.address()).ok());
}

TEST_P(Kind, too_much_is_an_error) {
  SharedMemory mine;
  const Status status = mine.create(GetParam(), std::size_t{1} << 56);
  EXPECT_EQ(status.code, Code::no_memory);
  EXPECT_NE(std::string(status.what), "");
  EXPECT_EQ(mine.data(), nullptr);
}

TEST(SharedMemory, only_its_owner_may_open_the_file_of_shm) {
  SharedMemory mine;
  ASSERT_TRUE(mine.create("shm", 5000).ok());
  struct stat file {};
  ASSERT_EQ(stat((std::string("/dev/shm") + mine.address().name).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST(SharedMemory, an_unknown_kind_is_an_error) {
  SharedMemory mine;
  EXPECT_FALSE(mine.create("memfdd", 5000).ok()) << "a typing error in CROSSRAIL_SEGMENT";
}

TEST(SharedMemory, a_pid_of_another_namespace_is_a_strangers) {
  SharedMemory mine, theirs;
  ASSERT_TRUE(mine.create("memfd", 8192).ok());
  SharedMemoryAddress address = mine.address();
  address.pid_space += 1;
  const Status status = theirs.attach(address);
  EXPECT_EQ(status.code, Code::system);
  EXPECT_NE(std::string(status.what).find("another pid namespace"), std::string::npos) << status.what;
}

TEST(SharedMemory, what_is_not_there_cannot_be_attached) {
  SharedMemory theirs;
  SharedMemoryAddress address{};
  address.bytes = 4096;
  address.pid_space = own_pid_space();
  address.pid = getpid();
  address.descriptor = 9999;
  EXPECT_EQ(theirs.attach(address).code, Code::system);
  std::strcpy(address.name, "/crossrail.not.there");
  EXPECT_EQ(theirs.attach(address).code, Code::system);
}

// A process that writes beyond its limit is not told, but killed.
TEST_P(Kind, beyond_the_limit_of_file_sizes_there_is_no_room) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    int wrong = 0;
    {  // Its end takes the name away.
      SharedMemory memory;
      if (memory.create(GetParam(), std::size_t{2} << 20).code != Code::no_memory) wrong = 1;
      if (!memory.create(GetParam(), 1 << 20).ok()) wrong = 3;
    }
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace crossrail::tests
