#include "mpi/carry.h"

#include "base/log.h"
#include "mpi/pmpi.h"
#include "mpi/settle.h"
#include "mpi/traffic.h"

namespace crossrail::mpi {
namespace {

int mpi_class(Code code) {
  switch (code) {
    case Code::mismatch: return MPI_ERR_TRUNCATE;
    case Code::no_memory: return MPI_ERR_NO_MEM;
    case Code::invalid: return MPI_ERR_ARG;
    case Code::system: return MPI_ERR_INTERN;
    default: return MPI_ERR_OTHER;
  }
}

int raise(const CallPlace& place, const Status& status) {
  log_line(LogLevel::error, "%s: %s", place.function, status.what);
  const int code = mpi_class(status.code);
  (void)pmpi().Comm_call_errhandler(place.comm, code);
  return code;
}

thread_local const char* last_algorithm_of_thread = "native";

}  // namespace

bool known_native(const CallPlace& place) {
  if (place.communicator.broken) return true;
  const Plan* known = place.communicator.plans->find(place.shape);
  return known != nullptr && known->native();
}

void refuse_unequal_sides(const CallPlace& place, Carried& carried) {
  withdraw(place.communicator, place.shape, Code::mismatch);
  carried.done = true;
  carried.code = raise(place, failed(Code::mismatch, "the send and the receive side of this rank differ in size"));
}

void settle(const CallPlace& place, const Outcome& outcome, Carried& carried) {
  note_traffic(outcome.status.ok() ? outcome.plan : nullptr);
  if (!outcome.status.ok()) {
    carried.done = true;
    carried.algorithm = "error";
    carried.code = raise(place, outcome.status);
    return;
  }
  carried.done = !outcome.plan->native();
  carried.algorithm = outcome.plan->algorithm;
  carried.code = MPI_SUCCESS;
}

Carried noted(const Carried& carried) {
  last_algorithm_of_thread = carried.algorithm;
  return carried;
}

const char* last_algorithm() { return last_algorithm_of_thread; }

}  // namespace crossrail::mpi
