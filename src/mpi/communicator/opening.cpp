#include "mpi/communicator/opening.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "base/float_mode.h"
#include "base/roomy_stack.h"
#include "base/settings.h"
#include "base/trace.h"
#include "device_sharing/freed_memory.h"
#include "selection/parameters.h"
#include "mpi/communicator/info_keys.h"
#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/mpi_links.h"
#include "mpi/communicator/open_communicator.h"
#include "mpi/communicator/other_calls.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/library/arguments.h"
#include "mpi/library/pmpi.h"
#include "mpi/words/native_reasons.h"

namespace crossrail::mpi {
namespace {

// It counts the records that had nonblocking calls, which cannot wait for other ranks.
std::atomic<int> wanted{0};

bool is_wanted(const CommunicatorRecord& record) { return !record.opened && record.first_calls.nonblocking() > 0; }

void opened(CommunicatorRecord& record, std::unique_ptr<Communicator> communicator) {
  wanted_no_more(record);
  record.communicator = std::move(communicator);
  if (record.early != nullptr && record.early->nothing_under_way()) record.early.reset();
  record.opened = true;
}

enum class May {
  open,
  nobody,    // All ranks come to the same result.
  not_here,  // MPI has refused this rank something, which the other ranks do not know.
};

// Processes that this one has spawned, was spawned by or has connected to may run without crossrail. In a communicator of several worlds, every rank
// misses some member in its own world, so all ranks come to the same result.
May all_in_this_world(MPI_Comm comm, int size) {
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized == 0) return May::open;  // The program uses sessions.
  MPI_Group members, world;
  if (pmpi().Comm_group(comm, &members) != MPI_SUCCESS) return May::not_here;
  May may = May::not_here;
  if (pmpi().Comm_group(handles().comm_world, &world) == MPI_SUCCESS) {
    std::vector<int> ranks(static_cast<std::size_t>(size)), there(ranks.size(), MPI_UNDEFINED);
    std::iota(ranks.begin(), ranks.end(), 0);
    if (pmpi().Group_translate_ranks(members, size, ranks.data(), world, there.data()) == MPI_SUCCESS) {
      may = std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end() ? May::open : May::nobody;
    }
    (void)pmpi().Group_free(&world);
  }
  (void)pmpi().Group_free(&members);
  return may;
}

// Returns whether crossrail may open a communicator.
May may_open(const CommunicatorRecord& record) {
  if (record.between_groups || record.ranks == 0) return May::nobody;
  return all_in_this_world(record.comm, record.ranks);
}

// Called in a blocking call that all ranks are in. The communicator is not opened if no rank wants it.
void open_here(CommunicatorRecord& record, bool wanted_here) {
  const trace::Slice traced(trace::on() ? trace::begin({"open communicator", trace::Kind::phase}) : 0);
  if (record.early != nullptr && record.early->conclude(record.first_calls.nonblocking())) {
    opened(record, std::move(record.early->communicator));
    return;
  }
  const May may = may_open(record);
  if (may == May::nobody) return opened(record, nullptr);
  // UCX computes the growth of its memory pools with floating-point operations, and these calls of ours may be the first that make them grow.
  const QuietFloats quiet;
  MpiExchange exchange(record.comm, record.ranks, sizeof(Location));
  std::unique_ptr<Communicator> made;
  try {
    bool wanted_anywhere = wanted_here;
    const bool able = exchange.meet(may == May::open, wanted_anywhere);
    if (able && !wanted_anywhere) return exchange.abandon();
    if (able) made = open_communicator(record.comm, exchange);
  } catch (const std::bad_alloc&) {
    made.reset();  // The exchange tells the other ranks.
  }
  if (made == nullptr) return opened(record, nullptr);
  const MpiExchange::End end = exchange.finish(true);
  // The other ranks believe that it is open, and hear of the failure in their first call.
  if (end == MpiExchange::End::uncertain) {
    made->break_up(Code::system, made->slot());
    made->slot().links->report_error(Code::system);
  }
  opened(record, end == MpiExchange::End::refused ? nullptr : std::move(made));
}

void open(CommunicatorRecord& record, bool wanted_here) {
  constexpr std::size_t kStackBytes = 256 << 10;
  auto job = [&] { open_here(record, wanted_here); };
  run_with_room(kStackBytes, job);
}

// A user who names an algorithm or an order wants the communicator to be opened.
bool settings_want_it(const Settings& own) {
  if (own.reproducible != 0 || info_key_was_given()) return true;
  return std::any_of(std::begin(kCollectives), std::end(kCollectives), [&](Collective one) { return !wanted_algorithm(own, one).empty(); });
}

bool wants_it(const CommunicatorRecord& record) {
  const Settings& own = process_settings();
  return record.first_calls.worth_opening(trace::now_ns(), static_cast<std::int64_t>(own.open_after_us) * 1000) || settings_want_it(own);
}

}  // namespace

void wanted_no_more(const CommunicatorRecord& record) {
  if (is_wanted(record)) wanted.fetch_sub(1, std::memory_order_relaxed);
}

CommunicatorRecord* record_of(MPI_Comm comm) {
  CommunicatorRecord* const record = look_up(comm);
  if (record != nullptr && !record->opened) open(*record, true);
  return record;
}

CommunicatorRecord* look_up_for_call(MPI_Comm comm) {
  CommunicatorRecord* const record = look_up(comm);
  if (record != nullptr && !record->opened && record->between_groups) opened(*record, nullptr);
  return record;
}

void count_blocking(CommunicatorRecord& record, Collective collective, bool worth_it) {
  if (finalizing()) return;
  const bool alltoall = collective == Collective::alltoall || collective == Collective::alltoallv;
  const bool due = record.first_calls.begin_blocking(alltoall);
  if ((alltoall && record.comm == handles().comm_world) || rank_order_from_the_start(record.comm)) {
    open(record, true);
  } else if (due) {
    open(record, worth_it || wants_it(record));
  }
}

void count_nonblocking(CommunicatorRecord& record, bool worth_it) {
  Invitation::look_at_all();
  FirstCalls& calls = record.first_calls;
  const bool due = calls.begin_nonblocking(trace::now_ns()) && pmpi().Ibcast != nullptr;
  if (calls.nonblocking() == 1) wanted.fetch_add(1, std::memory_order_relaxed);
  if (worth_it) calls.was_long();
  if (due && record.early == nullptr) {
    if (may_open(record) == May::nobody) return;
    record.early = std::make_unique<EarlyOpening>(record.comm);
  }
  if (due) record.early->invite(wants_it(record));
  if (record.early != nullptr && record.early->carries(calls.nonblocking())) opened(record, std::move(record.early->communicator));
}

bool can_have_pending_calls(const CommunicatorRecord& record) { return record.communicator != nullptr && record.communicator->slots.size() > 1; }

bool first_call_begins(CommunicatorRecord& record) {
  if (!record.first_calls.times_this_call()) return false;
  record.first_call_began_ns = trace::now_ns();
  return true;
}

void first_call_ended(CommunicatorRecord& record) { record.first_calls.took(trace::now_ns() - record.first_call_began_ns); }

void blocking_collective(Word64 comm) {
  freed_memory::await_unmapped();
  if (find_functions() != nullptr) open_if_wanted(handle_from<MPI_Comm>(comm));
}

void open_if_wanted(MPI_Comm comm) {
  if (wanted.load(std::memory_order_relaxed) == 0) return;
  CommunicatorRecord* record = nullptr;
  if (find(comm, record) && record != nullptr && is_wanted(*record) && record->first_calls.begin_other()) open(*record, wants_it(*record));
}

const char* explain_never_carried(const CommunicatorRecord* record) {
  if (record == nullptr) return native_because::kNoRecord;
  if (!record->opened) return nullptr;  // Even if this process has crossrail switched off, rank 0's settings hold.
  if (record->communicator == nullptr) return process_settings().enabled == 0 ? native_because::kOff : native_because::kNotOpened;
  return record->has_nothing_to_do() ? native_because::kNoAlgorithm : nullptr;
}

}  // namespace crossrail::mpi
