#include "mpi/communicator/mpi_exchange.h"

#include <sched.h>

#include <atomic>
#include <climits>

#include "base/bytes.h"
#include "base/log.h"
#include "mpi/statistics/counters.h"
#include "transport/control_block.h"

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kLongNs = 10'000'000'000;
constexpr int kTestsBetweenYields = 100;
// Of what ranks write for each other, beyond the sizes of it; to be counted up when its meaning changes.
constexpr std::uint64_t kProtocol = 1;

int protocol() {
  std::uint64_t hash = kHashSeed;
  for (const std::uint64_t word : {kProtocol, std::uint64_t{sizeof(Location)}, std::uint64_t{sizeof(SharedMemoryAddress)}, std::uint64_t{sizeof(RankLines)}}) {
    hash = mix_word(hash, word);
  }
  return static_cast<int>(hash % INT_MAX);
}

void say_once(std::atomic<bool>& said, const char* sentence) {
  if (!said.exchange(true)) log_line(LogLevel::error, "%s", sentence);
}

void complain_of_waiting() {
  static std::atomic<bool> said{false};
  say_once(said, "still waiting for all ranks in the first call on a communicator; if this does not end, some rank runs without "
                 "crossrail: preload it in every rank or in none, and give CROSSRAIL_REPRODUCIBLE to all or none");
}

}  // namespace

bool MpiExchange::meet() {
  const int mine[] = {protocol(), -protocol()};
  int largest[2] = {};
  MPI_Request request = handles().request_null;
  if (pmpi().Iallreduce(mine, largest, 2, handles().whole_number, handles().maximum, comm_, &request) != MPI_SUCCESS) return false;
  const std::int64_t began = now_ns();
  for (int tests = 1, all_here = 0;; ++tests) {
    if (pmpi().Testall(1, &request, &all_here, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return false;
    if (all_here != 0) break;
    if (tests % kTestsBetweenYields != 0) continue;
    (void)sched_yield();
    if (now_ns() - began > kLongNs) complain_of_waiting();
  }
  if (largest[0] == -largest[1]) return true;
  static std::atomic<bool> said{false};
  int rank = 0;
  (void)pmpi().Comm_rank(comm_, &rank);
  if (rank == 0) say_once(said, "ranks run with different builds of crossrail, which cannot work together: their calls go to MPI untouched");
  return false;
}

}  // namespace crossrail::mpi
