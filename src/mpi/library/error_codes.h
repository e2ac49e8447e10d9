// These functions say what the program is told of an error of ours: a class that MPI has, and a code whose string is our sentence
// (docs/decisions/0027-error-codes-of-our-own.md).
#pragma once

#include "base/status.h"

namespace crossrail::mpi {

// Returns the MPI error class of a code.
int mpi_class(Code code);

// Returns the code for the program. MPI_Error_class of it is mpi_class(code) and MPI_Error_string is `what`, as far as the MPI library can
// do both. Only threads that may call MPI may call this.
int error_code(Code code, const char* what);
// This does the same as error_code for a class that MPI has and our codes do not.
int error_code_of_class(int error_class, const char* what);

}  // namespace crossrail::mpi
