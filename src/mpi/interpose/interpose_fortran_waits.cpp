// The Fortran functions of Open MPI that complete requests: handed on as they are, and timed for the report.

#include "mpi/interpose/fortran_arguments.h"
#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"
#include "mpi/library/pmpi.h"
#include "mpi/statistics/request_times.h"

namespace crossrail::mpi {
namespace {

// Looked at only where something is counted.
RequestsAt requests_at(int count, Word64 address) {
  const bool readable = counting() && convertible() && find_functions() != nullptr;
  return {count, readable ? address : 0, read_fortran_handle};
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define COMPLETES(symbol, words, count, address)                                                                    \
  extern "C" __attribute__((visibility("default"))) void symbol(WORDS_##words) {                                    \
    static crossrail::mpi::NextCall next(#symbol);                                                                  \
    const crossrail::mpi::CompletionTime time(crossrail::mpi::requests_at(count, address));                         \
    (void)next(NAMES_##words);                                                                                      \
  }
// In all manglings of Fortran compilers, and as mpi_f08 calls it.
#define MANGLED(lower, upper, words, count, address) \
  COMPLETES(mpi_##lower##_, words, count, address)   \
  COMPLETES(mpi_##lower, words, count, address)      \
  COMPLETES(mpi_##lower##__, words, count, address)  \
  COMPLETES(MPI_##upper, words, count, address)      \
  COMPLETES(ompi_##lower##_f, words, count, address)
#define ONE(lower, upper, words) MANGLED(lower, upper, words, 1, a1)
#define SEVERAL(lower, upper, words) MANGLED(lower, upper, words, crossrail::mpi::fortran_integer(a1), a2)
ONE(wait, WAIT, 3)
ONE(test, TEST, 4)
ONE(request_get_status, REQUEST_GET_STATUS, 4)
SEVERAL(waitall, WAITALL, 4)
SEVERAL(waitany, WAITANY, 5)
SEVERAL(waitsome, WAITSOME, 6)
SEVERAL(testall, TESTALL, 5)
SEVERAL(testany, TESTANY, 6)
SEVERAL(testsome, TESTSOME, 6)
