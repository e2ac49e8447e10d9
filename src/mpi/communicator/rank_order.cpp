#include "mpi/communicator/rank_order.h"

#include <algorithm>

#include "base/log.h"
#include "base/setting_check.h"
#include "base/setting_sources.h"
#include "mpi/communicator/communicators.h"
#include "mpi/communicator/info_keys.h"
#include "mpi/library/pmpi.h"
#include "mpi/words/native_reasons.h"

namespace crossrail::mpi {
namespace {

constexpr const char* kVariable = "CROSSRAIL_REPRODUCIBLE";

const char* reason_of(const CallResult& carried) {
  if (carried.native_because == nullptr) return "such calls are never carried under this MPI library";
  return carried.native_because == native_because::kArguments ? "its operation or its type is none that crossrail combines" : carried.native_because;
}

bool in_environment() {
  static const bool found = [] {
    const auto& given = process_setting_sources().given;
    return std::any_of(given.begin(), given.end(), [](const GivenSetting& one) { return one.variable == kVariable && one.from == "environment"; });
  }();
  return found && process_settings().reproducible != 0;
}

// Returns what the communicator's info key says, or `otherwise` if it has none.
bool asks(MPI_Comm comm, bool otherwise) {
  std::string value;
  if (!value_of_info_key(comm, kVariable, value)) return otherwise;
  Settings settings;
  return assign_setting(settings, kVariable, value) && settings.reproducible != 0;
}

}  // namespace

bool ever_asked_for_rank_order() { return process_settings().reproducible != 0 || info_key_was_given(); }

bool rank_order_from_the_start(MPI_Comm comm) { return ever_asked_for_rank_order() && asks(comm, in_environment()); }

void tell_if_not_covered(MPI_Comm comm, const char* function, const CallResult& carried) {
  if ((carried.done && !carried.on_copies) || !ever_asked_for_rank_order() || comm == handles().comm_null) return;
  if (carried.native_because == native_because::kNoRecord) return;  // MPI may not be running.
  int rank = 0, size = 0;
  if (pmpi().Comm_rank(comm, &rank) != MPI_SUCCESS || pmpi().Comm_size(comm, &size) != MPI_SUCCESS) return;
  if (rank != 0 || size == 1 || !asks(comm, process_settings().reproducible != 0)) return;
  const char* const reason = reason_of(carried);
  if (first_time(reason)) log_line(LogLevel::error, "%s does not cover this %s, nor others like it: %s", kVariable, function, reason);
}

}  // namespace crossrail::mpi
