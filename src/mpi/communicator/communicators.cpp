#include "mpi/communicator/communicators.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

#include "mpi/buffers/short_float_operations.h"
#include "mpi/observe/counters.h"
#include "mpi/observe/report_file.h"
#include "mpi/communicator/notice_reader.h"
#include "mpi/communicator/opening.h"
#include "mpi/communicator/other_calls.h"
#include "mpi/communicator/private_communicators.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

constinit thread_local LastRecord last_record;
constinit thread_local AlwaysNative always_native;
constinit std::atomic<std::uint64_t> generation_of_records{1};

namespace {

std::atomic<bool> finalize_has_begun{false};
FinalizeObserver finalize_observer;

int forget(MPI_Comm, int, void* value, void*) {
  generation_of_records.fetch_add(1, std::memory_order_release);
  auto& record = *static_cast<CommunicatorRecord*>(value);
  wanted_no_more(record);
  record.freed = true;
  unuse(record);
  return MPI_SUCCESS;
}

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else (not every library deletes those of MPI_COMM_WORLD), so nothing that was
// remembered is valid from here on.
int finalize(MPI_Comm, int, void*, void*) {
  begin_finalize();
  generation_of_records.fetch_add(1, std::memory_order_release);
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

// An MPI library refuses to set an attribute only when it is out of memory. The job has
// to end, because the other ranks may have their records and would wait for this one.
void end_job(MPI_Comm comm, int code) {
  std::fputs("crossrail: MPI cannot store an attribute with a communicator, so this rank cannot take part in the calls of the other ranks, and "
             "the job ends. Give it more memory, or set CROSSRAIL=0.\n", stderr);
  (void)pmpi().Abort(comm, code);
}

int record_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    const int code = pmpi().Comm_create_keyval(do_not_copy, forget, &made, nullptr);
    if (code != MPI_SUCCESS) end_job(handles().comm_world, code);
    return made;
  }();
  return keyval;
}

// Nothing can be remembered before MPI_Init and after MPI_Finalize. In a program that uses only sessions, MPI counts as not initialized although
// communicators exist; the predefined communicators do not exist there.
bool mpi_runs(MPI_Comm comm) {
  int finalized = 0;
  (void)pmpi().Finalized(&finalized);
  if (finalized != 0) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized != 0) watch_for_finalize();
  return initialized != 0 || (comm != handles().comm_world && comm != handles().comm_self);
}

thread_local Freeing* innermost = nullptr;

bool is_being_freed(MPI_Comm comm) {
  const Freeing* one = innermost;
  while (one != nullptr && one->comm != comm) one = one->outer;
  return one != nullptr;
}

}  // namespace

bool find(MPI_Comm comm, CommunicatorRecord*& record) {
  if (comm == handles().comm_null || !mpi_runs(comm)) return false;
  void* value = nullptr;
  int found = 0;
  if (pmpi().Comm_get_attr(comm, record_keyval(), &value, &found) != MPI_SUCCESS) return false;  // The handle is no communicator.
  record = found != 0 ? static_cast<CommunicatorRecord*>(value) : nullptr;
  return true;
}

CommunicatorRecord* look_up(MPI_Comm comm) {
  if (is_being_freed(comm)) return nullptr;
  const std::uint64_t now = generation_of_records.load(std::memory_order_acquire);
  if (last_record.generation == now && last_record.comm == comm) return last_record.record;
  CommunicatorRecord* record = nullptr;
  if (!find(comm, record)) return nullptr;
  static std::mutex making;
  const std::unique_lock lock = record == nullptr ? std::unique_lock(making) : std::unique_lock<std::mutex>();
  if (record == nullptr && find(comm, record) && record == nullptr) {
    auto made = std::make_unique<CommunicatorRecord>();
    made->comm = comm;
    int between_groups = 0;
    if (pmpi().Comm_size(comm, &made->ranks) != MPI_SUCCESS) made->ranks = 0;
    made->between_groups = pmpi().Comm_test_inter(comm, &between_groups) == MPI_SUCCESS && between_groups != 0;
    if (const int code = pmpi().Comm_set_attr(comm, record_keyval(), made.get()); code != MPI_SUCCESS) end_job(comm, code);
    record = made.release();
  }
  last_record = {comm, record, generation_of_records.load(std::memory_order_acquire)};
  return record;
}

void begin_finalize() {
  if (!finalize_has_begun && finalize_observer.before != nullptr) finalize_observer.before();
  if (finalize_has_begun.exchange(true)) return;
  Invitation::end_all();
  NoticeReader::of_process().stop();
  close_before_finalize();
  CommonCommunicator::of_process().end();
  free_short_float_operations();
  if (finalize_observer.begun != nullptr) finalize_observer.begun();
}

void finalize_begins() {
  if (find_functions() == nullptr) return;
  ask_world();
  begin_finalize();
}

void observe_finalize(const FinalizeObserver& observer) { finalize_observer = observer; }

bool finalizing() { return finalize_has_begun; }

// If a broadcast of ours were still under way, MPICH would delete the attributes later, including those of the program.
Freeing* begin_to_free(MPI_Comm comm) {
  CommunicatorRecord* record = nullptr;
  if (find(comm, record) && record != nullptr && record->early != nullptr) record->early->leave_nothing_under_way(Invitation::kMostNs);
  generation_of_records.fetch_add(1, std::memory_order_release);  // This invalidates what threads remember of the record.
  return innermost = new Freeing{comm, innermost};
}

void begin_to_disconnect(MPI_Comm comm) {
  CommunicatorRecord* record = nullptr;
  if (find(comm, record) && record != nullptr && record->early != nullptr) record->early->leave_nothing_under_way();
}

void end_freeing(Freeing* begun) {
  const std::unique_ptr<Freeing> one(begun);
  innermost = one->outer;
}

void use(CommunicatorRecord& record) { record.uses.fetch_add(1, std::memory_order_relaxed); }

void unuse(CommunicatorRecord& record) {
  if (record.uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &record;
}

}  // namespace crossrail::mpi
