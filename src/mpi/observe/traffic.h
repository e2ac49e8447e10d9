// What the plans of this process have moved, for CROSSRAIL_REPORT and crossrail_last_traffic().
#pragma once

#include <string>

#include "comm/plan_summary.h"
#include "crossrail/crossrail.h"

namespace crossrail::mpi {

// After every call that crossrail has carried; null, or the summary of a native plan, after every other one.
void note_traffic(const Plan* plan);
void note_traffic(const PlanSummary& plan);

// Of this thread's last call; all zero if it was native.
crossrail_traffic last_traffic();

// What carried this thread's last call.
void note_algorithm(const char* algorithm);
const char* last_algorithm();

// Of all calls, for the report: [{"collective": ..., "algorithm": ..., "sends": ...}, ...], where
// plans of equal kind on equally large communicators are one.
std::string traffic_json();

}  // namespace crossrail::mpi
