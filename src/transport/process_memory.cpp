#include "transport/process_memory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace crossrail {

Status read_process(int pid, void* to, std::uint64_t address, std::size_t bytes) {
  auto* into = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const iovec local{into, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == ESRCH) return failure(Code::peer_lost, "process %d has ended", pid);
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

bool process_alive(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return kill(pid, 0) == 0 || errno != ESRCH;
  char text[512];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  // "pid (name) state ...": the name may hold anything, also parentheses.
  const char* state = std::strrchr(text, ')');
  return state == nullptr || (state[1] != '\0' && state[2] != 'Z' && state[2] != 'X');
}

}  // namespace crossrail
