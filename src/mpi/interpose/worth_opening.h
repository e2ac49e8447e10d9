// Calls on a communicator that has not been opened, of which a survey has found that the MPI library would not refuse them: others are not
// counted, since the program may repeat them on the rank that they were wrong on.
#pragma once

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "device/device.h"
#include "mpi/communicator/opening.h"
#include "mpi/interpose/carry.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/entry_points.h"
#include "mpi/statistics/native_reasons.h"

namespace crossrail::mpi {

// A call that sends so much takes about as long as opening.
constexpr std::uint64_t kLongBytes = std::uint64_t{256} << 10;

inline int ranks_of(const CommunicatorRecord& record) {
  int ranks = 0;
  if (record.opened) return record.communicator->topology.size;
  return pmpi().Comm_size(record.comm, &ranks) == MPI_SUCCESS ? ranks : 0;
}

// Whether it is worth while for this call alone, as this rank sees it.
template <class Call>
bool worth_opening(const Call& call, const typename Call::Facts& facts, int ranks) {
  if (call.block_bytes() * static_cast<std::uint64_t>(blocks_sent(call, ranks)) >= kLongBytes) return true;
  return device::driver_present() && !mpi_takes_device_memory() && call.touches_devices(facts);
}

// The same on all ranks. MPI libraries do not wait for others in it, and programs may rely on that.
inline bool moves_nothing(const Shape& shape) { return shape.block_bytes == 0 && row_of(shape.collective).counts != Counts::vector; }

// At the beginning of a blocking call on a communicator that is not open; afterwards it may be.
template <class Call>
void count_blocking(CommunicatorRecord& record, const Call& call, const typename Call::Facts& facts) {
  const Shape shape = call.shape();
  if (record.comm == handles().comm_world || !moves_nothing(shape)) count_blocking(record, shape.collective, worth_opening(call, facts, ranks_of(record)));
}

// The call is the MPI library's, since the communicator is not open.
inline void leave_first_call(CommunicatorRecord& record, Carried& carried) {
  carried.native_because = process_settings().enabled == 0 ? native_because::kOff : native_because::kFirstCalls;
  carried.first_call_on = &record;
  first_call_begins(record);
}

}  // namespace crossrail::mpi
