// These scenarios are about ranks that end, come late or will not take part.

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "tests/nccl/pairs.h"

namespace nccl_tests {

// Rank 0 does not make the call. The others abort the communicator, and their streams go on.
void abort_one(Rank& rank) {
  const Team team = world(rank);
  one_sum(rank, team, 1);
  if (rank.rank == 0) {
    std::this_thread::sleep_for(500ms);
  } else {
    Case one(Kind::all_reduce, 100, false, 2);
    check(rank, one.call(team, nullptr) == ncclSuccess, "a call has failed");
    std::this_thread::sleep_for(200ms);
    check(rank, ncclCommAbort(team.comm) == ncclSuccess, "ncclCommAbort");
    host_device_wait(nullptr);
    return;
  }
  check(rank, ncclCommAbort(team.comm) == ncclSuccess, "ncclCommAbort");
}

// The last rank ends after its first call. The others hear of it.
void one_is_killed(Rank& rank) {
  const Team team = world(rank);
  one_sum(rank, team, 1);
  if (rank.rank == rank.size - 1) _exit(kKilled);
  Case one(Kind::all_reduce, 100, false, 2);
  (void)one.call(team, nullptr);  // It may be known already.
  hear_of_the_end(rank, team);
}

void one_is_late(Rank& rank) {
  const Team team = world(rank);
  for (std::uint32_t number = 1; number < 4; ++number) {
    if (rank.rank == 1) std::this_thread::sleep_for(1500ms);
    one_sum(rank, team, number);
  }
  check(rank, counts().handled == 3, "calls handled", static_cast<long>(counts().handled));
  end(rank, team);
}

void nothing_handled(Rank& rank) {
  const Team team = world(rank);
  std::uint32_t number = 0;
  for (const Kind kind : kKinds) {
    Case one(kind, 100, false, ++number);
    check_call(rank, team, one, nullptr);
  }
  shift_round(rank, team, 5000, ++number);
  check(rank, counts().handled == 0, "calls handled", static_cast<long>(counts().handled));
  end(rank, team);
}

// One rank's user forbids what crossrail does, which holds for all.
void one_forbids(Rank& rank) {
  if (rank.rank == 1) setenv("NCCL_P2P_DISABLE", "1", 1);
  nothing_handled(rank);
}

// Every process has two ranks, in threads of their own. NCCL keeps such communicators.
void two_ranks_a_process(Rank& rank) {
  std::vector<Rank> here(2, rank);
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    Rank& one = here[static_cast<std::size_t>(number)];
    one.rank = 2 * rank.rank + number;
    one.size = 2 * rank.size;
    threads.emplace_back([&one] { nothing_handled(one); });
  }
  for (std::thread& thread : threads) thread.join();
  rank.wrong = here[0].wrong + here[1].wrong;
}

// A communicator may end while its calls are under way, and they do.
void end_at_once(Rank& rank) {
  const Team all = world(rank);
  std::deque<Case> calls;
  std::deque<Team> teams;
  for (std::uint32_t number = 0; number < 20; ++number) {
    Team& team = teams.emplace_back(all);
    check(rank, ncclCommSplit(all.comm, 0, 0, &team.comm, nullptr) == ncclSuccess, "ncclCommSplit");
    Case& one = calls.emplace_back(kKinds[number % 4], 200, false, number);
    if (rank.rank == static_cast<int>(number) % rank.size) std::this_thread::sleep_for(5ms);
    check(rank, one.call(team, nullptr) == ncclSuccess, "a call has failed");
    one.fetch(team, nullptr);
    end(rank, team);
  }
  host_device_wait(nullptr);
  for (const Case& one : calls) check(rank, one.wrong(all) == 0, "elements of a communicator that has ended");
  check(rank, counts().handled == 20, "calls handled", static_cast<long>(counts().handled));
  end(rank, all);
}

}  // namespace nccl_tests
