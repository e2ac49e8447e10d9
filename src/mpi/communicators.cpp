#include "mpi/communicators.h"

#include <atomic>
#include <mutex>

#include "mpi/counters.h"
#include "mpi/open_communicator.h"
#include "mpi/pmpi.h"

namespace crossrail::mpi {
namespace {

// Grows whenever a record goes: what threads have remembered of handles is then forgotten.
std::atomic<std::uint64_t> generation{1};
std::atomic<bool> finalize_has_begun{false};

int forget(MPI_Comm, int, void* value, void*) {
  generation.fetch_add(1, std::memory_order_release);
  delete static_cast<CommunicatorRecord*>(value);
  return MPI_SUCCESS;
}

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all (not every library deletes
// those of the world): from now on nothing that was remembered holds.
int finalize(MPI_Comm, int, void*, void*) {
  finalize_has_begun = true;
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

CommunicatorRecord* look_up(MPI_Comm comm) {
  if (comm == handles().comm_null || !mpi_runs(comm)) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (record_keyval() == MPI_KEYVAL_INVALID) return nullptr;
  if (pmpi().Comm_get_attr(comm, record_keyval(), &value, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<CommunicatorRecord*>(value);
  auto record = std::make_unique<CommunicatorRecord>();
  record->communicator = open_communicator(comm);
  if (pmpi().Comm_set_attr(comm, record_keyval(), record.get()) != MPI_SUCCESS) return nullptr;
  return record.release();
}

}  // namespace

bool finalizing() { return finalize_has_begun; }

CommunicatorRecord* record_of(MPI_Comm comm) {
  struct Remembered {
    MPI_Comm comm{};
    CommunicatorRecord* record = nullptr;
    std::uint64_t generation = 0;
  };
  static thread_local Remembered last;
  const std::uint64_t now = generation.load(std::memory_order_acquire);
  if (last.generation == now && last.comm == comm) return last.record;
  CommunicatorRecord* record = look_up(comm);
  last = {comm, record, record == nullptr ? 0 : generation.load(std::memory_order_acquire)};
  return record;
}

}  // namespace crossrail::mpi
