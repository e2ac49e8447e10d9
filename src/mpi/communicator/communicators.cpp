#include "mpi/communicator/communicators.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "base/settings.h"
#include "base/trace.h"
#include "mpi/buffers/short_float_operations.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/statistics/report_file.h"
#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/mpi_links.h"
#include "mpi/communicator/notice_reader.h"
#include "mpi/communicator/open_communicator.h"
#include "mpi/communicator/private_communicators.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/communicator/records_by_handle.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// Grows whenever a record goes: what threads have remembered of handles is then forgotten.
std::atomic<std::uint64_t> generation{1};
std::atomic<bool> finalize_has_begun{false};
void (*finalize_observer)() = nullptr;

// Records that nonblocking calls have wanted to be opened.
std::atomic<int> wanted{0};

bool is_wanted(const CommunicatorRecord& record) { return !record.opened && record.nonblocking_calls > 0; }

int forget(MPI_Comm, int, void* value, void*) {
  generation.fetch_add(1, std::memory_order_release);
  auto& record = *static_cast<CommunicatorRecord*>(value);
  forget_record(record.comm);
  if (is_wanted(record)) wanted.fetch_sub(1, std::memory_order_relaxed);
  record.freed = true;
  unuse(record);
  return MPI_SUCCESS;
}

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all (not every library deletes
// those of the world): from now on nothing that was remembered holds.
int finalize(MPI_Comm, int, void*, void*) {
  begin_finalize();
  generation.fetch_add(1, std::memory_order_release);
  write_report();
  return MPI_SUCCESS;
}

void watch_for_finalize() {
  static std::once_flag once;
  std::call_once(once, [] {
    int keyval = MPI_KEYVAL_INVALID;
    if (pmpi().Comm_create_keyval(do_not_copy, finalize, &keyval, nullptr) != MPI_SUCCESS) return;
    (void)pmpi().Comm_set_attr(handles().comm_self, keyval, nullptr);
  });
}

int record_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    (void)pmpi().Comm_create_keyval(do_not_copy, forget, &made, nullptr);
    return made;
  }();
  return keyval;
}

// Before MPI_Init and after MPI_Finalize there is nothing to remember. In a program that uses
// sessions only, MPI counts as not initialised although communicators exist; the predefined ones
// do not.
bool mpi_runs(MPI_Comm comm) {
  int finalized = 0;
  (void)pmpi().Finalized(&finalized);
  if (finalized != 0) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized != 0) watch_for_finalize();
  return initialized != 0 || (comm != handles().comm_world && comm != handles().comm_self);
}

struct Remembered {
  MPI_Comm comm{};
  CommunicatorRecord* record = nullptr;
  std::uint64_t generation = 0;
};
thread_local Remembered last;

// Null if `comm` has none. False where there can be none.
bool find(MPI_Comm comm, CommunicatorRecord*& record) {
  if (comm == handles().comm_null || !mpi_runs(comm)) return false;
  void* value = nullptr;
  int found = 0, size = 0;
  const bool answered = record_keyval() != MPI_KEYVAL_INVALID && pmpi().Comm_get_attr(comm, record_keyval(), &value, &found) == MPI_SUCCESS;
  record = answered && found != 0 ? static_cast<CommunicatorRecord*>(value) : record_without_attribute(comm);
  if (record != nullptr || answered) return true;
  // It may be no communicator at all.
  record = record_by_handle(comm);
  return record != nullptr || pmpi().Comm_size(comm, &size) == MPI_SUCCESS;
}

// The record that `comm` has, or a new one that is not opened.
CommunicatorRecord* look_up(MPI_Comm comm) {
  const std::uint64_t now = generation.load(std::memory_order_acquire);
  if (last.generation == now && last.comm == comm) return last.record;
  CommunicatorRecord* record = nullptr;
  if (!find(comm, record)) return nullptr;
  if (record == nullptr) {
    auto made = std::make_unique<CommunicatorRecord>();
    made->comm = comm;
    const bool kept = record_keyval() != MPI_KEYVAL_INVALID && pmpi().Comm_set_attr(comm, record_keyval(), made.get()) == MPI_SUCCESS;
    record = made.release();
    remember_record(comm, *record, kept ? KeptBy::attribute : KeptBy::handle);
  }
  last = {comm, record, generation.load(std::memory_order_acquire)};
  return record;
}

void opened(CommunicatorRecord& record, std::unique_ptr<Communicator> communicator) {
  if (is_wanted(record)) wanted.fetch_sub(1, std::memory_order_relaxed);
  record.communicator = std::move(communicator);
  record.early.reset();
  record.opened = true;
}

enum class May {
  open,
  nobody,    // all ranks find the same
  not_here,  // the MPI library has refused this rank something, of which the others do not know
};

// Processes that this one has spawned, was spawned by or has connected to may run without crossrail. Whoever is in a
// communicator of several worlds misses somebody in its own, so that all ranks see the same.
May all_in_this_world(MPI_Comm comm, int size) {
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized == 0) return May::open;  // sessions
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

// Whether a communicator may be ours; so many ranks. A handle that has a record is one, for which this cannot but succeed.
May may_open(MPI_Comm comm, int& size) {
  int inter = 0;
  if (pmpi().Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter != 0) return May::nobody;
  if (pmpi().Comm_size(comm, &size) != MPI_SUCCESS) return May::nobody;
  return all_in_this_world(comm, size);
}

// In a blocking call that all ranks are in.
void open(CommunicatorRecord& record) {
  const trace::Slice traced(trace::on() ? trace::begin({"open communicator", trace::Kind::phase}) : 0);
  if (record.early != nullptr && record.early->conclude(record.nonblocking_calls)) {
    opened(record, std::move(record.early->communicator));
    return;
  }
  int size = 0;
  const May may = may_open(record.comm, size);
  if (may == May::nobody) return opened(record, nullptr);
  MpiExchange exchange(record.comm, size, sizeof(Location));
  std::unique_ptr<Communicator> made;
  try {
    if (exchange.meet(may == May::open)) made = open_communicator(record.comm, exchange);
  } catch (const std::bad_alloc&) {
    made.reset();  // the others hear of it from the exchange
  }
  if (made == nullptr) return opened(record, nullptr);
  const MpiExchange::End end = exchange.finish(true);
  // The others believe that it is open: they hear of it in their first call.
  if (end == MpiExchange::End::uncertain) {
    made->break_up(Code::system, made->slot());
    made->slot().links->report_error(Code::system);
  }
  opened(record, end == MpiExchange::End::refused ? nullptr : std::move(made));
}

// A communicator that sees only one nonblocking call is not worth it.
constexpr std::uint64_t kOpensEarlyAtCall = 2;

// This rank begins a nonblocking call on a communicator that has not been opened.
void open_early(CommunicatorRecord& record) {
  Invitation::look_at_all();
  const std::uint64_t call = ++record.nonblocking_calls;
  if (call == 1) wanted.fetch_add(1, std::memory_order_relaxed);
  if (call == kOpensEarlyAtCall && pmpi().Ibcast != nullptr) {
    int size = 0;
    if (may_open(record.comm, size) == May::nobody) return;
    record.early = std::make_unique<EarlyOpening>(record.comm);
  }
  if (record.early != nullptr && record.early->carries(call)) opened(record, std::move(record.early->communicator));
}

}  // namespace

void begin_finalize() {
  if (finalize_has_begun.exchange(true)) return;
  Invitation::end_all();
  NoticeReader::of_process().stop();
  close_before_finalize();
  CommonCommunicator::of_process().end();
  free_short_float_operations();
  if (finalize_observer != nullptr) finalize_observer();
}

void observe_finalize(void (*observer)()) { finalize_observer = observer; }

bool finalizing() { return finalize_has_begun; }

void* begin_to_free(MPI_Comm comm) { return record_without_attribute(comm); }

void begin_to_disconnect(MPI_Comm comm) {
  CommunicatorRecord* record = nullptr;
  if (find(comm, record) && record != nullptr && record->early != nullptr) record->early->leave_nothing_under_way();
}

void freed(void* begun) {
  if (begun != nullptr) (void)forget(static_cast<CommunicatorRecord*>(begun)->comm, MPI_KEYVAL_INVALID, begun, nullptr);
}

CommunicatorRecord* record_of(MPI_Comm comm) {
  CommunicatorRecord* const record = look_up(comm);
  if (record != nullptr && !record->opened) open(*record);
  return record;
}

CommunicatorRecord* record_for_frequent(MPI_Comm comm) {
  constexpr std::uint64_t kFew = 8;
  CommunicatorRecord* const record = look_up(comm);
  if (record == nullptr || record->opened) return record;
  if (!finalizing() && (++record->frequent_calls > kFew || is_wanted(*record) || rank_order_from_the_start(comm))) open(*record);
  return record;
}

CommunicatorRecord* record_for_pending(MPI_Comm comm) {
  CommunicatorRecord* const record = look_up(comm);
  if (record != nullptr && !record->opened) open_early(*record);
  const bool usable = record != nullptr && record->communicator != nullptr && record->communicator->slots.size() > 1;
  return usable ? record : nullptr;
}

void open_if_wanted(MPI_Comm comm) {
  if (wanted.load(std::memory_order_relaxed) == 0) return;
  CommunicatorRecord* record = nullptr;
  if (find(comm, record) && record != nullptr && is_wanted(*record)) open(*record);
}

const char* why_never_carried(const CommunicatorRecord* record) {
  if (record == nullptr) return native_because::kNoRecord;
  if (record->communicator == nullptr) return process_settings().enabled == 0 ? native_because::kOff : native_because::kNotOpened;
  return record->has_nothing_to_do() ? native_because::kNoAlgorithm : nullptr;
}

void use(CommunicatorRecord& record) { record.uses.fetch_add(1, std::memory_order_relaxed); }

void unuse(CommunicatorRecord& record) {
  if (record.uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &record;
}

}  // namespace crossrail::mpi
