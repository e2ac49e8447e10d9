// One process's report as JSON (read by python/crossrail/report).
#pragma once

#include <string>

namespace crossrail::mpi {

// `finished`: the process ends MPI or itself; false: it still runs, and what comes later is not in it.
std::string report_json(bool finished);

}  // namespace crossrail::mpi
