#include "mpi/communicator/raised_errors.h"

#include "base/log.h"
#include "mpi/library/arguments.h"
#include "mpi/library/error_codes.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/report_file.h"

namespace crossrail::mpi {
namespace {

int logged(const char* function, const Status& status) {
  log_line(LogLevel::error, "%s: %s", function, status.what);
  return error_code(status.code, status.what);
}

}  // namespace

void call_error_handler(MPI_Comm comm, int code) {
  write_report_now();
  (void)pmpi().Comm_call_errhandler(comm, code);
}

int raise(const FailingCall& call, const Status& status) {
  const int code = logged(call.function, status);
  call_error_handler(call.comm, code);
  return code;
}

int raise_of_class(const FailingCall& call, int error_class, const char* what) {
  log_line(LogLevel::error, "%s: %s", call.function, what);
  const int code = error_code_of_class(error_class, what);
  call_error_handler(call.comm, code);
  return code;
}

void fail(const FailingCall& call, const Status& status, CallResult& result) {
  result.done = true;
  result.algorithm = "error";
  result.code = logged(call.function, status);
  result.to_be_raised = true;
  result.raised_on = word_of(call.comm);
}

void raise_error(const CallResult& result) {
  if (result.to_be_raised) call_error_handler(handle_from<MPI_Comm>(result.raised_on), result.code);
}

}  // namespace crossrail::mpi
