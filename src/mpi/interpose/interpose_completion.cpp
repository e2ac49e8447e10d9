// This file defines the C functions that complete requests, also under their PMPI_ names, by which tools and Fortran's bindings call them.
// Like interpose_c.cpp, it does not include mpi.h.

#include "mpi/communicator/unanswered.h"
#include "mpi/library/next_call.h"
#include "mpi/words/parameter_lists.h"
#include "mpi/requests/completion.h"
#include "mpi/requests/request_times.h"

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

#define WAIT(symbol, name)                                                         \
  CROSSRAIL_EXPORT Word64 symbol(Word64 request, Word64 status) {                  \
    static crossrail::mpi::NextCall next(#symbol);                                 \
    if (next.left_to_mpi()) return next(request, status);                          \
    const crossrail::mpi::CompletionTime time(name, {1, request}, {});             \
    const crossrail::mpi::WatchedWait watched({1, request});                       \
    crossrail::mpi::Completion completion;                                         \
    const crossrail::mpi::WaitBegun begun = crossrail::mpi::wait_begins(request);  \
    const Word64 code = begun.left_out ? 0 : next(request, status);                \
    crossrail::mpi::wait_ended(begun, status);                                     \
    return completion.of_one(code, status);                                        \
  }
// `before` precedes the MPI library's function, and `result` is computed from its code. `count` requests lie at `address`; the remaining
// arguments say which of them are complete (Completed).
#define COMPLETES(symbol, name, words, before, result, count, address, ...)                                          \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                                                    \
    static crossrail::mpi::NextCall next(#symbol);                                                                   \
    if (next.left_to_mpi()) return next(NAMES_##words);                                                              \
    const crossrail::mpi::CompletionTime time(name, {static_cast<int>(count), address}, {__VA_ARGS__});              \
    const crossrail::mpi::WatchedWait watched({static_cast<int>(count), address});                                   \
    crossrail::mpi::Completion completion;                                                                           \
    crossrail::mpi::before;                                                                                          \
    const Word64 code = next(NAMES_##words);                                                                         \
    return completion.result;                                                                                        \
  }
#define BOTH(name, ...)                            \
  COMPLETES(MPI_##name, "MPI_" #name, __VA_ARGS__)    \
  COMPLETES(PMPI_##name, "MPI_" #name, __VA_ARGS__)
WAIT(MPI_Wait, "MPI_Wait")
WAIT(PMPI_Wait, "MPI_Wait")
BOTH(Waitall, 3, waitall_begins(a1, a2), of_several(code, a3, a1), a1, a2, 0)
BOTH(Waitany, 4, look_begins(), of_one(code, a4), a1, a2, 0, 0, a3)
BOTH(Waitsome, 5, look_begins(), of_some(code, a5, a3), a1, a2, 0, a3, a4)
BOTH(Request_get_status, 3, look_begins(), of_one(code, a3), 1, reinterpret_cast<Word64>(&a1), a2)
BOTH(Test, 3, look_begins(), of_one(code, a3), 1, a1, a2)
BOTH(Testall, 4, look_begins(), of_several(code, a4, a1), a1, a2, a3)
BOTH(Testany, 5, look_begins(), of_one(code, a5), a1, a2, a4, 0, a3)
BOTH(Testsome, 5, look_begins(), of_some(code, a5, a3), a1, a2, 0, a3, a4)
