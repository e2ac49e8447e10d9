// Info keys set one communicator's settings: crossrail_alltoall, crossrail_scratch and so on, one for each
// variable of scope communicator. They are kept as an attribute that plain duplicates do not inherit, as
// MPI 4 defines it for info. MPI itself cannot keep them, because MPICH forgets keys that it does not know.
#pragma once

#include <string>

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Keeps those keys of `info` that are ours for `comm`. Rank 0 of `comm` reports values that make no sense and keys that come too late.
void keep_info_keys(MPI_Comm comm, MPI_Info info);
// Does the same for the copies of `comm` that this thread makes until end_copies(). They need their attributes from the beginning, while the handle
// that MPI_Comm_idup_with_info returns may not be used before the copy is complete.
void begin_copies_with(MPI_Comm comm, MPI_Info info);
void end_copies();
// Adds to `info`, which MPI has made, those of our keys that `comm` has. Open MPI may have put all keys that it was given into `info`.
void tell_info_keys(MPI_Comm comm, MPI_Info info);
// Returns "CROSSRAIL_ALLTOALL=pairwise\n" and so on. It is called when `comm` is opened; keys that come later are refused.
std::string settings_of_info_keys(MPI_Comm comm);
// From now on `comm` has rank 0's settings (`text` is as above), whatever this process has given.
void hold_info_keys(MPI_Comm comm, const std::string& text);
// Finds the value of this variable's key that this process has given `comm`. Returns false if there is none.
bool value_of_info_key(MPI_Comm comm, const std::string& variable, std::string& value);
// Returns whether this process has given any communicator one of our keys.
bool info_key_was_given();

}  // namespace crossrail::mpi
