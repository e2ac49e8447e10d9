// The file of one process in CROSSRAIL_REPORT: <folder>/<host>.<pid>.json. It is replaced while the program runs, so that what
// is killed leaves one, and a last time when MPI or the process ends.
#pragma once

#include <cstdint>

namespace crossrail::mpi {

// The process ends MPI, or itself.
void write_report();
// After a counted call, at this time in nanoseconds: about once a second, less often where writing is slow or the job is large.
void write_report_if_due(std::int64_t now);

}  // namespace crossrail::mpi
