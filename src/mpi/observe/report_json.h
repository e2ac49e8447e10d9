// This writes one process's report as JSON (python/crossrail/report reads it).
#pragma once

#include <string>

namespace crossrail::mpi {

// `finished` says that the process ends MPI or itself. Otherwise it still runs, and the report lacks what comes later.
std::string report_json(bool finished);

}  // namespace crossrail::mpi
