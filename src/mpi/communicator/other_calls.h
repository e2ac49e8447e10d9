// Entry points include this header to tell communicators what they do, and to ask which calls are native at once. mpi.h must not be included here.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// MPI_Finalize is about to be called. MPICH waits there before anything else for its progress hooks to end.
void finalize_begins();

// A blocking collective that crossrail does not handle is about to begin on the communicator in `comm`; every rank waits in it for all others.
void blocking_collective(Word64 comm);

// Calls the error handler for an error that a blocking call has ended with (raised_errors.h). This is the last step of a call: the handler may
// not return.
void raise_error(const CallResult& result);

extern std::atomic<std::uint64_t> generation_of_records;  // It grows whenever a record is deleted.

// AlwaysNative is the communicator of this thread's last call if its calls are native as long as no driver of devices is loaded, for example because
// it has one rank. It is valid as long as no record has been deleted since.
struct AlwaysNative {
  Word64 comm = 0;
  std::uint64_t generation = 0;
};
extern constinit thread_local AlwaysNative always_native;
inline bool is_always_native(Word64 comm) {
  return always_native.comm == comm && always_native.generation == generation_of_records.load(std::memory_order_acquire) && !device::driver_present();
}

}  // namespace crossrail::mpi
