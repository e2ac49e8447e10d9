#include "transport/process_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace crossrail {

namespace {

// The program may have protected pages that its signal handler makes writable. The kernel only reports that it cannot write there.
void make_writable(std::byte* begin, std::size_t bytes) {
  for (std::byte* at = begin; at < begin + bytes; at += kPageBytes - reinterpret_cast<std::uintptr_t>(at) % kPageBytes) {
    volatile std::byte& one = *at;
    one = one;
  }
}

// Returns all threads except the first, the oldest first.
std::vector<int> other_threads_of(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  DIR* const threads = opendir(folder.c_str());
  std::vector<int> found;
  for (const dirent* one = threads == nullptr ? nullptr : readdir(threads); one != nullptr; one = readdir(threads)) {
    const int thread = std::atoi(one->d_name);
    if (thread > 0 && thread != pid) found.push_back(thread);
  }
  if (threads != nullptr) closedir(threads);
  return found;
}

// Works like process_vm_readv. Once a process's first thread has ended, the process has no memory under that thread's number, even if other threads
// go on. These may end, too, between the look and the read.
ssize_t read_of_some_thread(int pid, const iovec& local, const iovec& remote) {
  constexpr int kLooks = 100;
  ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (got >= 0 || errno != ESRCH) return got;
  for (int look = 0; look < kLooks && process_alive(pid); ++look) {
    for (const int thread : other_threads_of(pid)) {
      got = process_vm_readv(thread, &local, 1, &remote, 1, 0);
      if (got >= 0 || errno != ESRCH) return got;
    }
  }
  errno = ESRCH;
  return -1;
}

}  // namespace

Status read_process(int pid, void* to, std::uint64_t address, std::size_t bytes) {
  auto* into = static_cast<std::byte*>(to);
  const std::byte* made_writable = nullptr;
  while (bytes > 0) {
    const iovec local{into, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = read_of_some_thread(pid, local, remote);
    if (got < 0 && errno == EFAULT && made_writable != into) {
      make_writable(into, bytes);
      made_writable = into;
      continue;
    }
    if (got < 0 && errno == ESRCH && !process_alive(pid)) return failure(Code::peer_lost, "process %d has ended", pid);
    if (got <= 0) {
      return failure(Code::system, "process_vm_readv of %zu bytes from process %d: %s", bytes, pid,
                     got == 0 ? "nothing read" : std::strerror(errno));
    }
    into += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

// If the target cannot be written to for whatever reason, the bytes are sent in another way.
Status write_process(int pid, const void* from, std::uint64_t address, std::size_t bytes) {
  auto* left = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const iovec local{const_cast<std::byte*>(left), bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t put = process_vm_writev(pid, &local, 1, &remote, 1, 0);
    if (put < 0 && errno == ESRCH && !process_alive(pid)) return failure(Code::peer_lost, "process %d has ended", pid);
    if (put <= 0) {
      return failure(Code::system, "process_vm_writev of %zu bytes to process %d: %s", bytes, pid, put == 0 ? "nothing written" : std::strerror(errno));
    }
    left += put;
    address += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
  return {};
}

namespace {

// The form of /proc/PID/stat is "pid (name) state ...", in which the name may
// contain anything, including parentheses. Fields are counted from the state on.
constexpr int kThreads = 17;
constexpr int kStarted = 19;

struct ProcessState {
  char letter = '?';
  long long threads = 0;
  unsigned long long started = 0;  // It counts ticks since the machine's start.
};

bool parse(const char* text, ProcessState& state) {
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return false;
  at += 2;
  state.letter = *at;
  for (int field = 0; field <= kStarted; ++field) {
    if (field == kThreads) state.threads = std::strtoll(at, nullptr, 10);
    if (field == kStarted) state.started = std::strtoull(at, nullptr, 10);
    at = std::strchr(at, ' ');
    if (at == nullptr) return field == kStarted;
    ++at;
  }
  return true;
}

// If a process began later than the one that was first seen under its number, it is another process.
bool is_another(int pid, unsigned long long started) {
  static std::mutex mutex;
  static auto& first_seen = *new std::map<int, unsigned long long>;
  const std::lock_guard lock(mutex);
  return first_seen.try_emplace(pid, started).first->second != started;
}

}  // namespace

bool process_alive(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return kill(pid, 0) == 0 || errno != ESRCH;
  char text[512];
  const ssize_t length = read(file, text, sizeof text - 1);
  const int error = errno;
  close(file);
  if (length <= 0) return length == 0 || error != ESRCH;
  text[length] = '\0';
  ProcessState state;
  if (!parse(text, state)) return true;
  // The main thread may have ended before the others. It stays a zombie as long as they live.
  const bool ended = state.letter == 'X' || (state.letter == 'Z' && state.threads <= 1);
  return !ended && !is_another(pid, state.started);
}

}  // namespace crossrail
