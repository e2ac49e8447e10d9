// crossrail_op makes operations on floats of 8 and 16 bits, for which MPI libraries have no types. To MPI they are operations of the program, which
// MPI calls to combine; crossrail knows what they do.
#pragma once

#include "base/status.h"
#include "comm/reduction.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// The operation is made when it is first asked for and lives until MPI_Finalize. Errors: invalid (the operation is not defined for such elements, or
// they are no short floats), system (MPI cannot make it).
Status short_float_operation(const Reduction& reduction, MPI_Op& op);

// Returns what such an operation does. For any other operation the result has none.
Reduction reduction_of_own(MPI_Op op);

// MPI_Finalize has begun.
void free_short_float_operations();

}  // namespace crossrail::mpi
