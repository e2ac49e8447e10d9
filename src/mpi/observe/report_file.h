// These functions write the report file of one process in CROSSRAIL_REPORT: <folder>/<host>.<pid>.json. It is replaced while the program
// runs, so that a process that is killed or crashes leaves one, and for the last time when MPI or the process ends.
#pragma once

namespace crossrail::mpi {

// Writes the last report, since the process ends MPI or itself.
void write_report();
// Writes a report now, because an error handler is about to be called that may end the process.
void write_report_now();
// A call has been counted. The first one writes a report at once; later ones leave it to a thread, so that calls do not wait for files.
void note_counted_call();

}  // namespace crossrail::mpi
