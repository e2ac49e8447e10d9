// This file defines those functions of crossrail.h that live in the preloaded library.

#include "base/settings.h"
#include "crossrail/crossrail.h"
#include "mpi/observe/counters.h"
#include "mpi/observe/report_file.h"
#include "mpi/observe/traffic.h"
#include "selection/parameters.h"

extern "C" __attribute__((visibility("default"))) int crossrail_set(const char* variable, const char* value) {
  if (variable == nullptr || value == nullptr) return 1;
  return crossrail::makes_sense(variable, value) && crossrail::change_process_setting(variable, value) ? 0 : 1;
}

extern "C" __attribute__((visibility("default"))) const char* crossrail_last_algorithm(void) {
  return crossrail::mpi::last_algorithm();
}

extern "C" __attribute__((visibility("default"))) int crossrail_last_traffic(crossrail_traffic* traffic) {
  if (traffic == nullptr) return 1;
  *traffic = crossrail::mpi::last_traffic();
  return 0;
}

extern "C" __attribute__((visibility("default"))) int crossrail_write_report(void) {
  if (!crossrail::mpi::reporting()) return 1;
  crossrail::mpi::write_report_now();
  return 0;
}
