// Operations on floats of 8 and 16 bits that MPI libraries have no types for (crossrail_op): operations of the program's to the MPI
// library, which calls them where it combines; known to crossrail for what they do.
#pragma once

#include "base/status.h"
#include "comm/reduction.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Made at the first question for it; it lives until MPI_Finalize. Errors: invalid (the operation is not defined for such elements, or they
// are no short floats), system (the MPI library makes none).
Status short_float_operation(const Reduction& reduction, MPI_Op& op);

// What an operation made so does; none for any other.
Reduction reduction_of_own(MPI_Op op);

// MPI_Finalize has begun.
void free_short_float_operations();

}  // namespace crossrail::mpi
