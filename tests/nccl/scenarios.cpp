#include <dlfcn.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <vector>

#include "tests/nccl/team.h"

namespace nccl_tests {

void all_collectives(Rank& rank) {
  const Team team = world(rank);
  void* const own = host_device_open_stream();
  std::uint32_t number = 0;
  for (const int count : {1, 7, 1000, 20000, 400000}) {
    for (const Kind kind : kKinds) {
      for (const bool in_place : {false, true}) {
        if (kind == Kind::all_to_all && in_place) continue;
        for (void* const stream : {static_cast<void*>(nullptr), own}) {
          Case one(kind, count, in_place, ++number);
          check_call(rank, team, one, stream);
        }
      }
    }
    for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter}) {
      Case average(kind, count, false, ++number);
      check_call(rank, team, average, own, ncclAvg);
    }
  }
  check(rank, counts().handled == number, "calls handled", static_cast<long>(counts().handled));
  host_device_close_stream(own);
  end(rank, team);
}

// Blocks that go in several parts, and short ones between them, follow each other without a wait.
void long_calls(Rank& rank) {
  constexpr int kCounts[] = {1, 300, 70000, 524287, 524288, 524305, 786433, 1000003};
  constexpr std::uint32_t kTurns = 12, kAtATime = 4;
  const Team team = world(rank);
  void* const own = host_device_open_stream();
  std::uint32_t draw = 12345;
  const auto drawn = [&draw](std::size_t below) { return (draw = draw * 1664525u + 1013904223u) / 65536u % below; };
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    std::deque<Case> calls;
    for (std::uint32_t number = 0; number < kAtATime; ++number) {
      const Kind kind = kKinds[drawn(std::size(kKinds))];
      const int count = kCounts[drawn(std::size(kCounts))];
      Case& one = calls.emplace_back(kind, count, kind != Kind::all_to_all && drawn(2) == 0, turn * kAtATime + number);
      check(rank, one.call(team, own) == ncclSuccess, "a call has failed");
      one.fetch(team, own);
    }
    host_device_wait(own);
    for (const Case& one : calls) check(rank, one.wrong(team) == 0, "elements of a call among long ones", one.wrong(team));
  }
  check(rank, counts().handled == std::uint64_t{kTurns} * kAtATime, "too few calls handled", static_cast<long>(counts().handled));
  host_device_close_stream(own);
  end(rank, team);
}

// All operations, on negative numbers and others, short and long, at addresses of every alignment.
void operations(Rank& rank) {
  constexpr std::uint32_t kNegative = 300000;
  const Team team = world(rank);
  void* const own = host_device_open_stream();
  std::uint32_t number = 0;
  for (const int count : {5, 3001, 80003, 600005}) {
    for (const ncclRedOp_t operation : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
      for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter}) {
        const bool averages = operation == ncclAvg;
        Case one(kind, count, number % 2 == 0, (averages ? 0 : kNegative) + number % 7);
        one.shift = static_cast<int>(number++ % 4);
        check_call(rank, team, one, own, operation);
      }
    }
  }
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  host_device_close_stream(own);
  end(rank, team);
}

// Rank 0 has come back from calls of new sizes and kinds before any other rank makes them.
void run_ahead(Rank& rank) {
  const Team team = world(rank);
  if (rank.rank != 0) check(rank, await_sign(rank, "ahead"), "rank 0 waits for the others");
  std::deque<Case> calls;
  std::uint32_t number = 1;
  for (const int count : {3, 500, 5000}) {
    for (const Kind kind : kKinds) {
      Case& one = calls.emplace_back(kind, count, false, ++number);
      check(rank, one.call(team, nullptr) == ncclSuccess, "a call has failed");
      one.fetch(team, nullptr);
    }
  }
  if (rank.rank == 0) give_sign(rank, "ahead");
  host_device_wait(nullptr);
  for (const Case& one : calls) check(rank, one.wrong(team) == 0, "elements of a call ahead");
  one_sum(rank, team, 99);
  (void)unlink(sign(rank, "ahead").c_str());
  end(rank, team);
}

// Ranks name two communicators in different orders, in one stream. What NCCL keeps is in the group, too.
void groups(Rank& rank) {
  Team first = world(rank), second = first;
  check(rank, ncclCommSplit(first.comm, 0, 0, &second.comm, nullptr) == ncclSuccess, "ncclCommSplit");
  for (std::uint32_t round = 0; round < 20; ++round) {
    Case one(Kind::all_reduce, 100, false, 2 * round), other(Kind::all_gather, 300, false, 2 * round + 1), left(Kind::broadcast, 50, false, round);
    check(rank, ncclGroupStart() == ncclSuccess, "ncclGroupStart");
    for (const bool now : {rank.rank % 2 == 0, rank.rank % 2 != 0}) {
      const ncclResult_t result = now ? one.call(first, nullptr) : other.call(second, nullptr);
      check(rank, result == ncclSuccess, "a call in a group");
    }
    check(rank, left.call(first, nullptr) == ncclSuccess, "a call of NCCL's in a group");
    check(rank, ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
    one.fetch(first, nullptr);
    other.fetch(second, nullptr);
    left.fetch(first, nullptr);
    host_device_wait(nullptr);
    check(rank, one.wrong(first) == 0 && other.wrong(second) == 0 && left.wrong(first) == 0, "elements of a group", round);
  }
  check(rank, counts().handled == 40, "calls in groups", static_cast<long>(counts().handled));
  end(rank, second);
  end(rank, first);
}

// Calls on one communicator are in turn in several streams, and nobody waits between them.
void several_streams(Rank& rank) {
  const Team team = world(rank);
  std::vector<void*> streams(3);
  for (void*& stream : streams) stream = host_device_open_stream();
  std::deque<Case> calls;
  for (std::uint32_t number = 0; number < 60; ++number) {
    Case& one = calls.emplace_back(kKinds[number % 4], 10 + static_cast<int>(number) * 37, false, number);
    void* const stream = streams[number % 7 % 3];
    check(rank, one.call(team, stream) == ncclSuccess, "a call has failed");
    one.fetch(team, stream);
  }
  for (void* const stream : streams) host_device_wait(stream);
  for (const Case& one : calls) check(rank, one.wrong(team) == 0, "elements in several streams");
  for (void* const stream : streams) host_device_close_stream(stream);
  one_sum(rank, team, 77);  // The stream of the call before is no more.
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  end(rank, team);
}

void split(Rank& rank) {
  const Team all = world(rank);
  one_sum(rank, all, 1);
  Team half;
  for (int member = rank.rank % 2; member < rank.size; member += 2) half.members.push_back(member);
  half.rank = rank.rank / 2;
  check(rank, ncclCommSplit(all.comm, rank.rank % 2, 0, &half.comm, nullptr) == ncclSuccess, "ncclCommSplit");
  for (std::uint32_t number = 2; number < 6; ++number) {
    one_sum(rank, half, number);
    one_sum(rank, all, 10 + number);
  }
  // The last rank is in no part, and is itself again afterwards.
  Team most;
  for (int member = 0; member + 1 < rank.size; ++member) most.members.push_back(member);
  most.rank = rank.rank;
  const bool last = rank.rank == rank.size - 1;
  check(rank, ncclCommSplit(all.comm, last ? -1 : 0, 0, &most.comm, nullptr) == ncclSuccess, "ncclCommSplit without a colour");
  if (!last) one_sum(rank, most, 20);
  one_sum(rank, all, 30);
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  if (!last) end(rank, most);
  end(rank, half);
  end(rank, all);
}

void shrink(Rank& rank) {
  const Team all = world(rank);
  one_sum(rank, all, 1);
  if (rank.rank == rank.size - 1) return end(rank, all);
  int left_out = rank.size - 1;
  Team rest;
  for (int member = 0; member + 1 < rank.size; ++member) rest.members.push_back(member);
  rest.rank = rank.rank;
  check(rank, ncclCommShrink(all.comm, &left_out, 1, &rest.comm, nullptr, 0) == ncclSuccess, "ncclCommShrink");
  for (std::uint32_t number = 2; number < 6; ++number) one_sum(rank, rest, number);
  check(rank, counts().left == 0, "calls left to NCCL", static_cast<long>(counts().left));
  end(rank, rest);
  end(rank, all);
}

// The shim stands where a program expects NCCL, and has NCCL's names and no others.
void names(Rank& rank) {
  void* const opened = dlopen("libnccl.so.2", RTLD_NOW);
  check(rank, opened != nullptr, "no library of NCCL's name");
  check(rank, dlsym(opened, "ncclAllReduce") == dlsym(RTLD_DEFAULT, "ncclAllReduce"), "another ncclAllReduce");
  check(rank, dlsym(opened, "crossrail_nccl_shim") != nullptr, "it is no shim");
  check(rank, dlsym(opened, "ncclCommRevoke") == nullptr, "a name that the library does not have");
  int version = 0;
  check(rank, ncclGetVersion(&version) == ncclSuccess && version == 22800, "the version", version);
  check(rank, std::string(ncclGetErrorString(ncclSuccess)) == "an error of the stand-in", "another text");
}

// Nothing is left of communicators that are no more.
void many_communicators(Rank& rank) {
  const Team all = world(rank);
  int files = 0;
  for (std::uint32_t number = 0; number < 60; ++number) {
    Team one = all;
    check(rank, ncclCommSplit(all.comm, 0, 0, &one.comm, nullptr) == ncclSuccess, "ncclCommSplit");
    one_sum(rank, one, number);
    end(rank, one);
    if (number == 5) files = open_files();
  }
  check(rank, open_files() <= files, "descriptors are left", open_files() - files);
  check(rank, counts().handled == 60, "calls handled", static_cast<long>(counts().handled));
  end(rank, all);
}

}  // namespace nccl_tests
