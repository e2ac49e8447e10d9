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
  return {count, readable ? address : 0, read_fortran_handle, 1};
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

// What tells which are complete comes last (Completed).
#define COMPLETES(symbol, words, count, address, ...)                                                               \
  extern "C" __attribute__((visibility("default"))) void symbol(WORDS_##words) {                                    \
    static crossrail::mpi::NextCall next(#symbol);                                                                  \
    const crossrail::mpi::CompletionTime time(crossrail::mpi::requests_at(count, address), {__VA_ARGS__});          \
    (void)next(NAMES_##words);                                                                                      \
  }
// In all manglings of Fortran compilers, and as mpi_f08 calls it.
#define MANGLED(lower, upper, words, count, address, ...)         \
  COMPLETES(mpi_##lower##_, words, count, address, __VA_ARGS__)   \
  COMPLETES(mpi_##lower, words, count, address, __VA_ARGS__)      \
  COMPLETES(mpi_##lower##__, words, count, address, __VA_ARGS__)  \
  COMPLETES(MPI_##upper, words, count, address, __VA_ARGS__)      \
  COMPLETES(ompi_##lower##_f, words, count, address, __VA_ARGS__)
#define SEVERAL(lower, upper, words, ...) MANGLED(lower, upper, words, crossrail::mpi::fortran_integer(a1), a2, __VA_ARGS__)
MANGLED(wait, WAIT, 3, 1, a1, 0)
MANGLED(test, TEST, 4, 1, a1, a2)
MANGLED(request_get_status, REQUEST_GET_STATUS, 4, 1, a1, a2)
SEVERAL(waitall, WAITALL, 4, 0)
SEVERAL(waitany, WAITANY, 5, 0, 0, a3)
SEVERAL(waitsome, WAITSOME, 6, 0, a3, a4)
SEVERAL(testall, TESTALL, 5, a3)
SEVERAL(testany, TESTANY, 6, a4, 0, a3)
SEVERAL(testsome, TESTSOME, 6, 0, a3, a4)
