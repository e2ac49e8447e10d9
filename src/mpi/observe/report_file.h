// The file of one process in CROSSRAIL_REPORT: <folder>/<host>.<pid>.json. It is replaced while the program runs, so that what
// is killed or crashes leaves one, and a last time when MPI or the process ends.
#pragma once

namespace crossrail::mpi {

// The process ends MPI, or itself.
void write_report();
// The process may be about to end: an error handler is called.
void write_report_now();
// After a counted call. The first one writes a report at once, the later ones are left to a thread: calls do not wait for files.
void note_counted_call();

}  // namespace crossrail::mpi
