// What tells this process from all others of a job, in the names of its files.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/host_name.h"

namespace crossrail {

// The inode of this process's pid namespace: elsewhere its pid is another process's. 0 if unknown.
inline std::uint64_t pid_space() {
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

// HOST.PID; where pids are of a namespace, as in containers, of which each rank may have its own, HOST.NAMESPACE-PID.
inline std::string process_name() {
  constexpr std::uint64_t kOfTheMachine = 0xEFFFFFFC;  // of Linux: PROC_PID_INIT_INO
  const std::uint64_t space = pid_space();
  const std::string apart = space == 0 || space == kOfTheMachine ? "" : std::to_string(space) + "-";
  return host_name() + "." + apart + std::to_string(static_cast<int>(getpid()));
}

}  // namespace crossrail
