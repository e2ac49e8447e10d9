// Some native calls have a buffer in device memory that MPI cannot read. MPI then gets copies in host memory (requests/copied_calls.h).
#pragma once

#include "device/device.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/entry_point.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {

// Returns whether MPI may meet device memory that it cannot read.
inline bool copies_may_be_needed() { return device::driver_present() && !mpi_takes_device_memory(); }

// Surveys a native call and returns whether it may need copies.
template <class Call>
bool needs_copies(Call& call, typename Call::Facts& facts) {
  int ranks = 0, between_groups = 0;
  if (!copies_may_be_needed() || call.left_to_mpi()) return false;
  if (call.comm() == handles().comm_null || pmpi().Comm_size(call.comm(), &ranks) != MPI_SUCCESS) return false;
  // A call between two groups has as many blocks as the other group has ranks. MPI always handles such calls.
  if (pmpi().Comm_test_inter(call.comm(), &between_groups) != MPI_SUCCESS || between_groups != 0) return false;
  return call.survey(ranks, facts).answer != Survey::Answer::refused;
}

// Returns whether a call that has been surveyed has data in a device's memory.
template <class Call>
bool touches_devices(const Call& call) {
  return touches_devices(call.sent()) || touches_devices(call.received());
}

template <class Call>
SidesOfCall sides_of(const Call& call) {
  return {call.sent(), call.received(), call.comm()};
}

}  // namespace crossrail::mpi
