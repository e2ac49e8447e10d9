// This header says what distinguishes this process from all others of a job, for the names of its files.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/host_name.h"

namespace crossrail {

// Returns the inode of this process's pid namespace, in which alone its pid is its own, or 0 if unknown.
inline std::uint64_t pid_space() {
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

// Returns HOST.PID or, inside a pid namespace, HOST.NAMESPACE-PID, because each rank may be in a container of its own.
inline std::string process_name() {
  constexpr std::uint64_t kOfTheMachine = 0xEFFFFFFC;  // This is Linux's PROC_PID_INIT_INO.
  const std::uint64_t space = pid_space();
  const std::string apart = space == 0 || space == kOfTheMachine ? "" : std::to_string(space) + "-";
  return host_name() + "." + apart + std::to_string(static_cast<int>(getpid()));
}

}  // namespace crossrail
