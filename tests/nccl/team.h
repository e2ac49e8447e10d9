// What the scenarios have in common.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>

#include "tests/nccl/case.h"

namespace nccl_tests {

using namespace std::chrono_literals;

inline Team world(Rank& rank) {
  if (!use_device(rank.rank)) {
    std::printf("skipped: no GPU\n");
    std::exit(kSkipped);
  }
  Team team;
  team.rank = rank.rank;
  team.members.resize(static_cast<std::size_t>(rank.size));
  std::iota(team.members.begin(), team.members.end(), 0);
  check(rank, ncclCommInitRank(&team.comm, rank.size, rank.id, rank.rank) == ncclSuccess, "ncclCommInitRank");
  return team;
}

struct Counts {
  std::uint64_t handled = 0, left = 0;
};
inline Counts counts() {
  const auto ask = reinterpret_cast<void (*)(std::uint64_t*, std::uint64_t*)>(dlsym(RTLD_DEFAULT, "crossrail_nccl_counts"));
  Counts all;
  if (ask != nullptr) ask(&all.handled, &all.left);
  return all;
}

inline void end(Rank& rank, const Team& team) { check(rank, ncclCommDestroy(team.comm) == ncclSuccess, "ncclCommDestroy"); }

// A file says to other ranks that this one has come so far.
inline std::string sign(const Rank& rank, const char* of_what) { return "/tmp/nccl_ranks." + rank.job + "." + of_what; }
inline void give_sign(const Rank& rank, const char* of_what) { std::fclose(std::fopen(sign(rank, of_what).c_str(), "w")); }
inline bool await_sign(const Rank& rank, const char* of_what) {
  for (int looks = 0; looks < 20000; ++looks) {
    if (access(sign(rank, of_what).c_str(), F_OK) == 0) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

// It grows if something of communicators is not given back.
inline int open_files() {
  int files = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++files;
  closedir(folder);
  return files;
}

inline void one_sum(Rank& rank, const Team& team, std::uint32_t number, void* stream = nullptr) {
  Case one(Kind::all_reduce, 100, false, number);
  check_call(rank, team, one, stream);
}

// A rank has ended. NCCL says so, and the communicator is aborted.
inline void hear_of_the_end(Rank& rank, const Team& team) {
  ncclResult_t error = ncclSuccess;
  for (int looks = 0; looks < 10000 && error == ncclSuccess; ++looks) {
    check(rank, ncclCommGetAsyncError(team.comm, &error) == ncclSuccess, "ncclCommGetAsyncError");
    std::this_thread::sleep_for(1ms);
  }
  check(rank, error == ncclRemoteError, "nobody says that a rank has ended", error);
  check(rank, ncclCommAbort(team.comm) == ncclSuccess, "ncclCommAbort");
  host_device_wait(nullptr);
}

}  // namespace nccl_tests
