// These functions keep what the plans of this process have moved, for CROSSRAIL_REPORT and crossrail_last_traffic().
#pragma once

#include <string>

#include "comm/plan_summary.h"
#include "crossrail/crossrail.h"

namespace crossrail::mpi {

// This is called after every call. `plan` handled the call; it is null or a native plan if MPI did.
void note_traffic(const Plan* plan);
void note_traffic(const PlanSummary& plan);

// This thread's last call was native.
void note_native();

// Returns the traffic of this thread's last call, which is all zero if the call was native.
crossrail_traffic last_traffic();

// Keeps the algorithm that handled this thread's last call.
void note_algorithm(const char* algorithm);
const char* last_algorithm();

// Returns the traffic of all calls as [{"collective": ..., "algorithm": ..., "sends": ...}, ...]. Plans of the same kind on communicators
// of the same size are one entry.
std::string traffic_json();

}  // namespace crossrail::mpi
