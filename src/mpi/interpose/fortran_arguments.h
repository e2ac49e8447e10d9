// The arguments of Fortran calls, which are addresses, as those of the C calls. In place, those of the send side
// may be anything.
#pragma once

#include <algorithm>
#include <vector>

#include "mpi/interpose/carry.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct Conversions {
  MPI_Comm (*comm)(MPI_Fint);
  MPI_Datatype (*type)(MPI_Fint);
  MPI_Op (*op)(MPI_Fint);
  MPI_Request (*request)(MPI_Fint);
  MPI_Fint (*fortran_request)(MPI_Request);
};
const Conversions& conversions();
// Whether calls can be converted at all.
bool convertible();

// The sentinels of Fortran as those of C.
Word64 c_address(Word64 address);
inline MPI_Fint fortran_integer(Word64 address) { return *reinterpret_cast<const MPI_Fint*>(address); }
// For RequestsAt.
inline Word64 read_fortran_handle(Word64 address, int index) {
  return reinterpret_cast<Word64>(conversions().request(reinterpret_cast<const MPI_Fint*>(address)[index]));
}
inline Word64 type_at(Word64 address) { return reinterpret_cast<Word64>(conversions().type(fortran_integer(address))); }
inline Word64 op_at(Word64 address) { return reinterpret_cast<Word64>(conversions().op(fortran_integer(address))); }
inline Word64 comm_at(Word64 address) { return reinterpret_cast<Word64>(conversions().comm(fortran_integer(address))); }

// Fortran's counts and displacements are C's int already.
static_assert(sizeof(MPI_Fint) == sizeof(int));

// The first 6, 7 and 9 words.
void allreduce_arguments(const Word64* words, Word64* arguments);
void alltoall_arguments(const Word64* words, Word64* arguments);
void alltoallv_arguments(const Word64* words, Word64* arguments);
// The types are in memory that each thread keeps until its next such call. False if the call is none of ours.
bool alltoallw_arguments(const Word64* words, Word64* arguments);

}  // namespace crossrail::mpi
