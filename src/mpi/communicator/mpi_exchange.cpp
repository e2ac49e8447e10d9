#include "mpi/communicator/mpi_exchange.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "mpi/communicator/unanswered.h"
#include "mpi/observe/counters.h"
#include "transport/control_block.h"

namespace crossrail::mpi {
namespace {

constexpr int kMeetingTestsBetweenYields = 100;
// This is the version of the records that ranks write for each other. Increase it when their meaning changes without a change in size.
constexpr std::uint64_t kProtocol = 6;

constexpr int kLeastProtocol = 1 << 10;  // No build has a smaller value.

int protocol() {
  std::uint64_t hash = kHashSeed;
  for (const std::uint64_t word : {kProtocol, std::uint64_t{sizeof(Location)}, std::uint64_t{sizeof(SharedMemoryAddress)}, std::uint64_t{sizeof(RankLines)}}) {
    hash = mix_word(hash, word);
  }
  return kLeastProtocol + static_cast<int>(hash % (INT_MAX - kLeastProtocol));
}

// `largest` and `smallest` are the extremes over all ranks.
bool is_from_crossrail(int largest, int smallest) { return largest >= protocol() && smallest <= protocol() && smallest >= kLeastProtocol; }

void complain_of_other_builds(MPI_Comm comm) {
  static std::atomic<bool> said{false};
  int rank = 0;
  (void)pmpi().Comm_rank(comm, &rank);
  if (rank != 0 || said.exchange(true)) return;
  log_line(LogLevel::error, "ranks run with different builds of crossrail, which cannot work together: their calls go to MPI untouched");
}

}  // namespace

bool MpiExchange::meet(bool able, bool& wanted) {
  begun_ = true;
  enum Wish { not_wanted, wants_it, not_able };
  const int mine[] = {protocol(), -protocol(), !able ? not_able : wanted ? wants_it : not_wanted};
  int largest[3] = {};
  MPI_Request request = handles().request_null;
  if (pmpi().Iallreduce(mine, largest, 3, handles().whole_number, handles().maximum, comm_, &request) != MPI_SUCCESS) return fail();
  const std::int64_t began = now_ns();
  for (int tests = 1, all_here = 0;; ++tests) {
    if (pmpi().Testall(1, &request, &all_here, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return fail();
    if (all_here != 0) break;
    if (tests % kMeetingTestsBetweenYields != 0) continue;
    (void)sched_yield();
    if (now_ns() - began > kLongWaitNs) complain_of_waiting();
  }
  over_ = largest[0] != -largest[1] || largest[2] == not_able;
  wanted = largest[2] == wants_it;
  if (!is_from_crossrail(largest[0], -largest[1])) {
    complain_of_strangers();
  } else if (largest[0] != -largest[1]) {
    complain_of_other_builds(comm_);
  } else {
    if (ranks() > 1) Unanswered::answered();
    return !over_;
  }
  return false;
}

bool MpiExchange::combine(const Round& mine, Round& of_all) {
  begun_ = true;
  return pmpi().Allreduce(&mine, &of_all, static_cast<int>(kWords), handles().whole_number, handles().bitwise_or, comm_) == MPI_SUCCESS;
}

bool MpiExchange::tell(bool mine, void* payload, std::size_t bytes) {
  if (over_) return false;
  auto* const at = static_cast<std::byte*>(payload);
  std::size_t done = 0;
  do {
    const std::size_t part = std::min(bytes - done, kPayloadBytes);
    Round own, of_all;
    own.refused = mine ? 0 : 1;
    if (part > 0) std::memcpy(own.payload.data(), at + done, part);
    if (!combine(own, of_all)) return fail();
    over_ = of_all.given_up != 0;
    if (over_ || of_all.refused != 0) return false;
    if (part > 0) std::memcpy(at + done, of_all.payload.data(), part);
    done += part;
  } while (done < bytes);
  return true;
}

bool MpiExchange::broadcast(std::string& text) {
  int rank = 0;
  (void)pmpi().Comm_rank(comm_, &rank);
  std::uint64_t length = rank == 0 ? text.size() : 0;
  if (!tell(true, &length, sizeof length)) return false;
  if (rank != 0) text.assign(length, '\0');
  return length == 0 || tell(true, text.data(), text.size());
}

MpiExchange::End MpiExchange::ask(bool mine, bool& also, std::uint64_t& word) {
  int rank = 0;
  (void)pmpi().Comm_rank(comm_, &rank);
  Round own, of_all;
  own.refused = mine ? 0 : 1;
  if (rank == 0) std::memcpy(own.payload.data(), &word, sizeof word);
  own.payload.back() = also ? 0 : 1;
  if (!combine(own, of_all)) return End::uncertain;
  over_ = of_all.given_up != 0;
  also = of_all.payload.back() == 0;
  std::memcpy(&word, of_all.payload.data(), sizeof word);
  return over_ || of_all.refused != 0 ? End::refused : End::agreed;
}

bool MpiExchange::from_node_leader(const Topology& topology, void* record, std::size_t bytes) {
  std::vector<std::byte> all(bytes * static_cast<std::size_t>(topology.node_count()));
  std::byte* const place = all.data() + bytes * static_cast<std::size_t>(topology.node());
  if (topology.node_rank() == 0) std::memcpy(place, record, bytes);
  if (!tell(true, all.data(), all.size())) return false;
  std::memcpy(record, place, bytes);
  return true;
}

bool MpiExchange::gather_entries(const std::vector<std::byte>& own, std::vector<std::byte>& of_all) {
  of_all.resize(own.size() * static_cast<std::size_t>(ranks()));
  const int count = static_cast<int>(own.size());
  return pmpi().Allgather(own.data(), count, handles().byte, of_all.data(), count, handles().byte, comm_) == MPI_SUCCESS;
}

bool MpiExchange::gather_bytes(const void* mine, void* all, std::size_t bytes) {
  if (over_ || bytes != first_bytes_) return false;
  first_bytes_ = 0;
  const std::size_t entry = 1 + bytes;
  std::vector<std::byte> own(entry), of_all;
  own[0] = std::byte{1};
  std::memcpy(own.data() + 1, mine, bytes);
  if (!gather_entries(own, of_all)) return fail();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks()); ++rank) {
    over_ = over_ || of_all[rank * entry] == std::byte{0};
    std::memcpy(static_cast<std::byte*>(all) + rank * bytes, of_all.data() + rank * entry + 1, bytes);
  }
  return !over_;
}

MpiExchange::End MpiExchange::finish(bool mine) {
  if (over_) return End::refused;
  Round own, of_all;
  own.refused = mine ? 0 : 1;
  const bool heard = combine(own, of_all);
  over_ = true;
  if (!heard) return End::uncertain;
  return of_all.given_up == 0 && of_all.refused == 0 ? End::agreed : End::refused;
}

// The rank takes part in the next step of the others, which is either the first record that all gather or a round.
void MpiExchange::give_up() {
  if (over_ || !begun_) return;
  over_ = true;
  if (first_bytes_ == 0) {
    Round own, of_all;
    own.given_up = 1;
    (void)combine(own, of_all);
    return;
  }
  std::vector<std::byte> of_all;
  (void)gather_entries(std::vector<std::byte>(1 + first_bytes_), of_all);
}

}  // namespace crossrail::mpi
