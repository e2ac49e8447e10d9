// What calls return.
#pragma once

#include "base/log.h"
#include "nccl/communicators.h"

namespace crossrail::nccl {

inline Result worse(Result one, Result other) { return one == Result::success ? other : one; }

// An error stays with the communicator. The record's mutex is held.
inline Result result_of(Record& record, const Status& status) {
  if (status.ok()) return Result::success;
  log_line(LogLevel::error, "%s", status.what);
  record.error = status.code == Code::peer_lost ? Result::remote_error : Result::internal_error;
  return record.error;
}

}  // namespace crossrail::nccl
