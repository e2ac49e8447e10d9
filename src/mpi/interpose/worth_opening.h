// Calls on a communicator that has not been opened: whether one is worth opening it for.
#pragma once

#include "device/device.h"
#include "mpi/communicator/opening.h"
#include "mpi/interpose/carry.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/native_reasons.h"

namespace crossrail::mpi {

// A call that sends so much takes about as long as opening.
constexpr std::uint64_t kLongBytes = std::uint64_t{256} << 10;

inline int ranks_of(const CommunicatorRecord& record) {
  int ranks = 0;
  if (record.opened) return record.communicator->topology.size;
  return pmpi().Comm_size(record.comm, &ranks) == MPI_SUCCESS ? ranks : 0;
}

// Its types are not looked at: to find out what is wrong with them would raise errors.
template <class Call>
bool worth_opening(const Call& call, const CommunicatorRecord& record) {
  if (call.left_to_mpi()) return false;
  if (call.estimated_bytes(ranks_of(record)) >= kLongBytes) return true;
  return device::driver_present() && !mpi_takes_device_memory() && call.begins_on_device();
}

template <class Call>
WorthIt worth_it(const Call& call) {
  return {&call, [](const void* its, const CommunicatorRecord& record) { return worth_opening(*static_cast<const Call*>(its), record); }};
}

// The call is the MPI library's, since the communicator is not open.
inline void leave_first_call(CommunicatorRecord& record, Carried& carried) {
  carried.native_because = native_because::kFirstCalls;
  carried.first_call_on = &record;
  first_call_begins(record);
}

}  // namespace crossrail::mpi
