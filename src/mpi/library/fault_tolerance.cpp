#include "mpi/library/fault_tolerance.h"

#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// These are Open MPI's numbers, which headers before version 5 lack.
constexpr int kProcessFailed = 75;
constexpr int kRevoked = 77;

struct Ulfm {
  int (*is_revoked)(MPI_Comm, int*) = nullptr;
  int (*get_failed)(MPI_Comm, MPI_Group*) = nullptr;
  int (*acknowledge)(MPI_Comm) = nullptr;
};

const Ulfm& ulfm() {
  static const Ulfm found = [] {
    Ulfm functions;
#ifdef OPEN_MPI
    functions.is_revoked = reinterpret_cast<decltype(functions.is_revoked)>(library_symbol("PMPIX_Comm_is_revoked"));
    functions.get_failed = reinterpret_cast<decltype(functions.get_failed)>(library_symbol("PMPIX_Comm_get_failed"));
    functions.acknowledge = reinterpret_cast<decltype(functions.acknowledge)>(library_symbol("PMPIX_Comm_failure_ack"));
#endif
    return functions;
  }();
  return found;
}

bool any_failed(MPI_Comm comm) {
  if (ulfm().get_failed == nullptr) return false;
  MPI_Group failed;
  if (ulfm().get_failed(comm, &failed) != MPI_SUCCESS) return false;
  int size = 0;
  (void)pmpi().Group_size(failed, &size);
  (void)pmpi().Group_free(&failed);
  return size > 0;
}

}  // namespace

Status look_for_failures(MPI_Comm comm) {
  int revoked = 0;
  if (ulfm().is_revoked == nullptr || ulfm().is_revoked(comm, &revoked) != MPI_SUCCESS) return {};
  if (revoked != 0) return failed(Code::revoked, "the communicator has been revoked");
  return any_failed(comm) ? failed(Code::peer_lost, "a process of the communicator has failed") : Status{};
}

bool acknowledge_failures(MPI_Comm comm) {
  return ulfm().acknowledge != nullptr && any_failed(comm) && ulfm().acknowledge(comm) == MPI_SUCCESS;
}

int failure_class(Code code, int other) {
  if (ulfm().is_revoked == nullptr) return other;
  return code == Code::revoked ? kRevoked : code == Code::peer_lost ? kProcessFailed : other;
}

}  // namespace crossrail::mpi
