// What became of a call that an entry point has received. No mpi.h here: a library of the wrong flavour may look at no more than the
// machine words of a call.
#pragma once

#include <cstdint>

namespace crossrail::mpi {

// An argument as it travels in the C calling conventions of x86-64 and aarch64 Linux. The upper half of an int's word is undefined.
using Word64 = std::intptr_t;

struct CommunicatorRecord;

// What must happen when a call has ended, whichever way it went (call_ended).
enum class AtEnd : std::uint8_t {
  nothing,
  first_call,     // the communicator is not open yet, and its calls are timed until it is
  left_to_mpi,    // the communicator's other ranks can see that this rank left the call to the MPI library (ControlBlock::leave_call)
  timed,          // the communicator's SpeedGuard compares this call with others
};

struct CallResult {
  bool done = false;  // false: the MPI library is to get the untouched arguments
  bool on_copies = false;     // done, by the MPI library on copies of the buffers
  bool to_be_raised = false;  // done, with an error that the communicator's error handler must hear of
  AtEnd at_end = AtEnd::nothing;
  int code = 0;  // MPI's, once the call has ended
  const char* algorithm = "native";
  const char* native_because = nullptr;  // where not done, one of words/native_reasons.h
  std::uint64_t block_bytes = 0;
  std::uint64_t blocks = 1;  // that this rank sends, of that size on average
  CommunicatorRecord* record = nullptr;  // of `at_end`; kept alive until then
  Word64 raised_on = 0;                  // the communicator, where the error is to be raised
};

// Marks the call as native and says why.
inline CallResult left(const char* native_because) {
  CallResult result;
  result.native_because = native_because;
  return result;
}

}  // namespace crossrail::mpi
