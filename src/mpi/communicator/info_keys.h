// Settings of one communicator, as info keys: crossrail_alltoall, crossrail_scratch and so on, by the variables of scope communicator.
// They are kept as an attribute, which plain duplicates do not get, as MPI 4 has it for info. MPICH forgets keys that it does not know.
#pragma once

#include <string>

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Keeps the keys of `info` that are ours for `comm`; says in a sentence on its rank 0 what makes no sense, or comes too late.
void keep_info_keys(MPI_Comm comm, MPI_Info info);
// The same for the copies of `comm` that this thread makes until end_copies(): they have their attributes from the beginning, while
// a handle that MPI_Comm_idup_with_info has given may not be used before the copy is complete.
void begin_copies_with(MPI_Comm comm, MPI_Info info);
void end_copies();
// Of the keys that are ours, `info`, which the MPI library has made (Open MPI tells again all that it was given), gets those that `comm` has.
void tell_info_keys(MPI_Comm comm, MPI_Info info);
// "CROSSRAIL_ALLTOALL=pairwise\n" for each. For the opening of `comm`: keys that come later are refused.
std::string settings_of_info_keys(MPI_Comm comm);
// `comm` has rank 0's from now on, a text as above, whatever this process has given.
void hold_info_keys(MPI_Comm comm, const std::string& text);
// The key of this variable that this process has given `comm`; false if none.
bool value_of_info_key(MPI_Comm comm, const std::string& variable, std::string& value);
// Whether this process has given any communicator a key of ours.
bool info_key_was_given();

}  // namespace crossrail::mpi
