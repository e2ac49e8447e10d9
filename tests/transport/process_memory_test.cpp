#include "transport/process_memory.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace crossrail::tests {
namespace {

TEST(ReadProcess, copies_from_a_process) {
  std::vector<std::uint32_t> from(300'000);
  for (std::size_t at = 0; at < from.size(); ++at) from[at] = static_cast<std::uint32_t>(at * 7);
  std::vector<std::uint32_t> to(from.size());
  const Status status =
      read_process(getpid(), to.data(), reinterpret_cast<std::uint64_t>(from.data()), from.size() * sizeof from[0]);
  if (status.code == Code::system) GTEST_SKIP() << "process_vm_readv is not allowed here: " << status.what;
  ASSERT_TRUE(status.ok()) << status.what;
  EXPECT_EQ(from, to);
}

TEST(ReadProcess, of_no_bytes_is_nothing) { EXPECT_TRUE(read_process(getpid(), nullptr, 0, 0).ok()); }

TEST(ReadProcess, of_what_cannot_be_read_is_an_error) {
  std::byte to[16];
  EXPECT_EQ(read_process(getpid(), to, 16, sizeof to).code, Code::system);
}

TEST(Alive, tells_a_living_from_a_dead_process_and_a_zombie) {
  EXPECT_TRUE(process_alive(getpid()));
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[1]);
    char byte;
    _exit(read(pipe_ends[0], &byte, 1) == 0 ? 0 : 1);  // It waits until the parent closes its end.
  }
  close(pipe_ends[0]);
  EXPECT_TRUE(process_alive(child));
  close(pipe_ends[1]);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_alive(child)) << "a zombie has ended";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(process_alive(child));
  std::byte to[16];
  EXPECT_EQ(read_process(child, to, 16, sizeof to).code, Code::peer_lost);
}

// Starts a child whose first thread has ended by itself; another one waits for the end of the pipe. `beside` runs on a third one.
pid_t start_without_first_thread(const int (&pipe_ends)[2], void (*beside)()) {
  const pid_t child = fork();
  if (child != 0) return child;
  close(pipe_ends[1]);
  std::thread([end = pipe_ends[0]] {
    char byte;
    _exit(read(end, &byte, 1) == 0 ? 0 : 1);
  }).detach();
  if (beside != nullptr) std::thread(beside).detach();
  syscall(SYS_exit, 0);  // It ends this thread alone.
  _exit(1);
}

std::string state_of(pid_t process) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
  return text.substr(text.rfind(')') + 2, 1);
}

// A program does so if its main thread ends by pthread_exit.
TEST(Alive, a_process_lives_as_long_as_any_of_its_threads) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = start_without_first_thread(pipe_ends, nullptr);
  close(pipe_ends[0]);
  while (state_of(child) != "Z") sched_yield();
  EXPECT_TRUE(process_alive(child)) << "only its main thread has ended";
  static const std::uint32_t number = 4711;
  std::uint32_t seen = 0;
  EXPECT_TRUE(read_process(child, &seen, reinterpret_cast<std::uint64_t>(&number), sizeof seen).ok());
  EXPECT_EQ(seen, number);
  close(pipe_ends[1]);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_alive(child));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

// The youngest thread may end at any moment.
TEST(ReadProcess, reads_on_while_threads_come_and_go) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = start_without_first_thread(pipe_ends, [] {
    while (true) std::thread([] {}).join();
  });
  close(pipe_ends[0]);
  while (state_of(child) != "Z") sched_yield();
  static const std::uint32_t number = 4712;
  std::uint32_t seen = 0;
  int failed = 0;
  for (int read = 0; read < 2000; ++read) failed += read_process(child, &seen, reinterpret_cast<std::uint64_t>(&number), sizeof seen).ok() ? 0 : 1;
  EXPECT_EQ(failed, 0);
  close(pipe_ends[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

// This is the first process of a namespace of its own, where numbers can be given again. It exits with 0 if it tells them apart, 1 if not, and 2 if
// that cannot be tried.
[[noreturn]] void tell_apart_two_of_one_number() {
  const pid_t first = fork();
  if (first == 0) _exit(pause());
  if (mount("proc", "/proc", "proc", 0, nullptr) != 0) _exit(2);
  const bool alive = process_alive(first);
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  usleep(50'000);  // The times of starts have ticks of 10 ms.
  std::ofstream("/proc/sys/kernel/ns_last_pid") << first - 1 << std::flush;
  const pid_t second = fork();
  if (second == 0) _exit(pause());
  if (second != first) _exit(2);
  _exit(alive && kill(second, 0) == 0 && !process_alive(second) ? 0 : 1);  // All others of the namespace end with it.
}

TEST(Alive, a_process_with_the_number_of_an_ended_one_is_another) {
  const pid_t maker = fork();
  if (maker == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(2);
    const pid_t child = fork();
    if (child == 0) tell_apart_two_of_one_number();
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(maker, &status, 0), maker);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no namespace of processes, or no right to choose their numbers";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace crossrail::tests
