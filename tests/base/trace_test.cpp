// This is a program of its own, because a process has one trace. python/crossrail/report/trace.py and tests/mpi/traced.py read what the files hold.
#include "base/trace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace crossrail::tests {
namespace {

constexpr std::size_t kHeadBytes = 4096 + 256 * 96, kEventBytes = 64;
constexpr std::uint64_t kEvents = 5000;  // It is more than the file has room for at first.

struct Folder {
  Folder() {
    char made[] = "/tmp/crossrail_trace_test.XXXXXX";
    path = mkdtemp(made);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& one : std::filesystem::directory_iterator(path)) found.push_back(one.path().string());
    return found;
  }
  std::string path;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Runs `body` in a process of its own, which it may end as it likes. Returns how it has ended.
template <class Body>
int in_a_process(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  (void)waitpid(child, &status, 0);
  return status;
}

TEST(Trace, nothing_is_traced_before_it_is_opened) {
  EXPECT_FALSE(trace::on());
  EXPECT_EQ(trace::begin({"run", trace::Kind::phase}), 0u);
  trace::tell(0, {.algorithm = "native"});
  trace::end(0);
}

TEST(Trace, of_many_threads_the_latest_events_are_kept_also_of_a_process_that_is_killed) {
  const Folder folder;
  const int status = in_a_process([&] {
    trace::open(folder.path, kEvents);
    if (!trace::on()) _exit(1);
    std::vector<std::thread> threads;
    for (int one = 0; one < 4; ++one) {
      threads.emplace_back([] {
        for (int turn = 0; turn < 5000; ++turn) {
          const trace::Slice slice(trace::begin({"run", trace::Kind::phase, 7}));
        }
      });
    }
    for (std::thread& one : threads) one.join();
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(folder.files().size(), 1u);
  const std::string bytes = content(folder.files()[0]);
  ASSERT_EQ(bytes.size(), kHeadBytes + kEvents * kEventBytes);
  EXPECT_EQ(bytes.substr(0, 8), "crtrace1");
  EXPECT_EQ(number_at(bytes, 8), kEvents);
  EXPECT_EQ(number_at(bytes, 16), 20'000u);
  std::uint64_t older = 0;  // This happens where a thread was held up in writing for as long as the others needed for a whole turn.
  for (std::uint64_t index = 0; index < kEvents; ++index) {
    const std::size_t at = kHeadBytes + index * kEventBytes;
    const std::uint64_t number = number_at(bytes, at);
    ASSERT_EQ(number % kEvents, (index + 1) % kEvents);
    older += number <= 15'000;
    ASSERT_GT(number, 0u);
    ASSERT_LE(number, 20'000u);
    ASSERT_GT(number_at(bytes, at + 8), 0u);
    ASSERT_GE(number_at(bytes, at + 16), number_at(bytes, at + 8));
    ASSERT_EQ(number_at(bytes, at + 24), 7u);
  }
  EXPECT_LE(older, kEvents / 100);
}

TEST(Trace, an_event_that_has_made_room_is_not_touched_any_more) {
  const Folder folder;
  in_a_process([&] {
    trace::open(folder.path, 16);
    const trace::Number old = trace::begin({"run", trace::Kind::phase});
    for (int one = 0; one < 16; ++one) (void)trace::begin({"run", trace::Kind::phase});
    trace::tell(old, {.bytes = 99});
    trace::end(old);
  });
  const std::string bytes = content(folder.files().at(0));
  ASSERT_EQ(number_at(bytes, kHeadBytes), 17u);
  EXPECT_EQ(number_at(bytes, kHeadBytes + 16), 0u);
  EXPECT_EQ(number_at(bytes, kHeadBytes + 24), 0u);
}

TEST(Trace, what_a_device_did_is_an_event_of_its_own_with_the_words_of_what_was_asked_for) {
  const Folder folder;
  in_a_process([&] {
    trace::open(folder.path, 16);
    const trace::Number asked = trace::begin({"exchange", trace::Kind::device, 77});
    trace::end(asked);
    trace::add_on_device(asked, 1000, 3000);
    trace::add_on_device(0, 1000, 3000);
    trace::add_on_device(9, 1000, 3000);
  });
  const std::string bytes = content(folder.files().at(0));
  const std::size_t asked = kHeadBytes, did = kHeadBytes + kEventBytes;
  EXPECT_EQ(number_at(bytes, 16), 2u);
  EXPECT_EQ(number_at(bytes, did + 8), 1000u);
  EXPECT_EQ(number_at(bytes, did + 16), 3000u);
  EXPECT_EQ(number_at(bytes, did + 24), 77u);
  EXPECT_EQ(number_at(bytes, did + 32), 1u);
  EXPECT_EQ(bytes.substr(did + 40, 2), bytes.substr(asked + 40, 2));  // This is the name.
  EXPECT_EQ(bytes.at(did + 46), static_cast<char>(trace::Kind::on_device));
}

TEST(Trace, a_forked_process_has_a_file_of_its_own) {
  const Folder folder;
  in_a_process([&] {
    trace::open(folder.path, 16);
    trace::end(trace::begin({"run", trace::Kind::phase}));
    const int status = in_a_process([&] {
      if (trace::on() || trace::begin({"run", trace::Kind::phase}) != 0) _exit(1);
      trace::open(folder.path, 16);
      trace::end(trace::begin({"run", trace::Kind::phase}));
    });
    if (status != 0) raise(SIGKILL);
  });
  const auto files = folder.files();
  ASSERT_EQ(files.size(), 2u);
  for (const std::string& file : files) EXPECT_EQ(number_at(content(file), 16), 1u);
}

TEST(Trace, where_it_cannot_be_written_the_process_goes_on_without) {
  const Folder folder;
  EXPECT_EQ(in_a_process([&] {
    trace::open(folder.path + "/nosuch", 16);
    if (trace::on()) _exit(1);
  }), 0);
  // A limit is met later, as full file systems are.
  EXPECT_EQ(in_a_process([&] {
    trace::open(folder.path, kEvents);
    const rlimit limit{kHeadBytes + kEvents * kEventBytes - 1, RLIM_INFINITY};
    if (!trace::on() || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    for (std::uint64_t one = 0; one < kEvents; ++one) trace::end(trace::begin({"run", trace::Kind::phase}));
    if (trace::on()) _exit(1);
  }), 0);
  EXPECT_EQ(folder.files().size(), 1u);
}

}  // namespace
}  // namespace crossrail::tests
