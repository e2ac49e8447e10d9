// The records of all communicators by their handles, beside the attributes that keep them: for where the MPI library refuses an
// attribute on one rank, which must not leave the others, who have theirs.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct CommunicatorRecord;

// Null: there is none.
CommunicatorRecord* record_by_handle(MPI_Comm comm);
enum class KeptBy { attribute, handle };
void remember_record(MPI_Comm comm, CommunicatorRecord& record, KeptBy kept_by);
void forget_record(MPI_Comm comm);
// The record that has no attribute, so that nobody says when its communicator is freed; null: there is none.
CommunicatorRecord* record_without_attribute(MPI_Comm comm);

}  // namespace crossrail::mpi
