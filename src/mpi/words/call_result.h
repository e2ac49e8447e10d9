// CallResult says what became of a call that an entry point has received. This header does not include mpi.h: a library of the wrong
// flavour may look at no more than the machine words of a call.
#pragma once

#include <cstdint>

namespace crossrail::mpi {

// This is an argument as it travels in the C calling conventions of x86-64 and aarch64 Linux. The upper half of an int's word is undefined.
using Word64 = std::intptr_t;

struct CommunicatorRecord;

// This says what has to happen when the call has ended, whichever way it went (call_ended).
enum class AtEnd : std::uint8_t {
  nothing,
  first_call,     // Its communicator is not open yet, and the call is timed to find out when opening pays.
  left_to_mpi,    // The other ranks can see that this rank left the call to MPI (ControlBlock::leave_call).
  timed,          // The SpeedGuard of its communicator compares this call with others.
};

struct CallResult {
  bool done = false;  // If it is false, MPI gets the untouched arguments.
  bool on_copies = false;     // MPI has done the call on copies of the buffers.
  bool to_be_raised = false;  // The call is done, and its error handler must hear of an error.
  AtEnd at_end = AtEnd::nothing;
  int code = 0;  // This is MPI's code, which is known once the call has ended.
  const char* algorithm = "native";
  const char* native_because = nullptr;  // It is one of words/native_reasons.h if the call is not done.
  std::uint64_t block_bytes = 0;
  std::uint64_t blocks = 1;  // This rank sends this many blocks, whose mean size is block_bytes.
  CommunicatorRecord* record = nullptr;  // `at_end` is about this record, which lives until then.
  Word64 raised_on = 0;                  // The error is to be raised on this communicator.
};

// Marks the call as native and says why.
inline CallResult left(const char* native_because) {
  CallResult result;
  result.native_because = native_because;
  return result;
}

}  // namespace crossrail::mpi
