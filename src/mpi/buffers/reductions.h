// MPI's operations and datatypes as Reductions.
#pragma once

#include "comm/reduction.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Whether the standard names it for reductions: by its handle alone, on all ranks alike.
bool is_type_of_reductions(MPI_Datatype type);

// Of an operation of MPI's own, whose elements the type is to say, or of one of crossrail_op, which says them itself. Without an operation of
// any other: its ranks may not even give it types of one form.
Reduction combining_of(MPI_Op op);

// What it does to a type of MPI's own of so many bytes. Without an operation where it is not defined for the type, or the type is not
// one that the standard names for reductions: the MPI library may take such calls, or refuse them. The same on all ranks, since
// MPI obliges them to give one operation and, with one of MPI's own, one type of its own.
Reduction reduction_of(const Reduction& combining, MPI_Datatype type, std::uint64_t bytes);

}  // namespace crossrail::mpi
