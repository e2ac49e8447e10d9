// What the program is told of an error of crossrail's: a class that MPI has, and a code whose string is our sentence.
#pragma once

#include "base/status.h"

namespace crossrail::mpi {

// The MPI error class of a code.
int mpi_class(Code code);

// The code for the program. MPI_Error_class of it is that class, MPI_Error_string our sentence, as far as the MPI library can do both
// (docs/decisions/0027-error-codes-of-our-own.md). For threads that may call MPI.
int error_code(Code code, const char* what);
// The same of this class, where MPI has a word for it that crossrail has none for.
int error_code_of_class(int error_class, const char* what);

}  // namespace crossrail::mpi
