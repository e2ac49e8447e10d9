// This file logs, counts and raises crossrail's own errors. They are raised on the communicator of the call.
#pragma once

#include "base/status.h"
#include "mpi/library/flavour.h"
#include "mpi/communicator/other_calls.h"

namespace crossrail::mpi {

// Calls the error handler of `comm`. The report is written before, because the handler may end the process.
void call_error_handler(MPI_Comm comm, int code);

struct FailingCall {
  const char* function;
  MPI_Comm comm;
};
// Logs the error and calls the handler. Returns the code for the program.
int raise(const FailingCall& call, const Status& status);
int raise_of_class(const FailingCall& call, int error_class, const char* what);
// Logs the error and notes it in the result of a blocking call, which is counted before raise_error calls the handler.
void fail(const FailingCall& call, const Status& status, CallResult& result);

}  // namespace crossrail::mpi
