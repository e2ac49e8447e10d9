// This file maps MPI's operations and datatypes to Reductions.
#pragma once

#include "comm/reduction.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Returns whether the standard allows the type in reductions. The handle alone decides, so all ranks agree.
bool is_type_of_reductions(MPI_Datatype type);

// Returns what an operation does. MPI's own operations leave the elements to the type, while those of crossrail_op define them. For any other
// operation the result has none, since the ranks may even pass types of different forms.
Reduction combining_of(MPI_Op op);

// Returns what the operation does to one of MPI's own types of so many bytes. The result has no operation if the operation is not defined for the
// type or the standard does not allow the type in reductions: MPI may accept or refuse such calls. All ranks get the same result, since MPI obliges
// them to pass one operation and, with one of MPI's own, one type of its own.
Reduction reduction_of(const Reduction& combining, MPI_Datatype type, std::uint64_t bytes);

}  // namespace crossrail::mpi
