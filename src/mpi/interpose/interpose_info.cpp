// This file defines the C functions that free a communicator, give it info or return its info, for info keys that are ours
// (communicator/info_keys.h), and those that begin and end sessions. Fortran's calls arrive here as well, by MPI_ names with MPICH and its
// relatives and by PMPI_ names with Open MPI.

#include "mpi/interpose/info_call.h"
#include "mpi/library/next_call.h"
#include "mpi/words/parameter_lists.h"

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

// This does not depend on CROSSRAIL_PMPI, since Open MPI's Fortran bindings come by PMPI_ names.
bool is_within_another(const NextCall& next) { return next.name()[0] == 'P' && InNextCall::is_there(); }

// Makes the call. Returns false if its outcome does not concern us.
template <class... Words>
bool succeeded(NextCall& next, Word64& code, Words... words) {
  if (is_within_another(next)) {
    code = next(words...);
    return false;
  }
  const InNextCall inside;
  code = next(words...);
  return static_cast<int>(code) == 0;
}

Word64 copy_with_info(NextCall& next, Word64 comm, Word64 info, Word64 copy, Word64 request) {
  if (is_within_another(next)) return next(comm, info, copy, request);
  copies_begin(comm, info);
  const InNextCall inside;
  const Word64 code = next(comm, info, copy, request);
  copies_end();
  return code;
}

// There is no InNextCall here: the functions that delete attributes may make calls of their own, which are not part of this one.
Word64 free_communicator(NextCall& next, Word64 address) {
  if (is_within_another(next)) return next(address);
  void* const begun = free_begins(address);
  const Word64 code = next(address);
  free_ends(begun);
  return code;
}

Word64 disconnect_communicator(NextCall& next, Word64 address) {
  if (!is_within_another(next)) disconnect_begins(address);
  return free_communicator(next, address);
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

// The arguments are INFO_CALL(symbol, words, what follows if it has succeeded). Words that the call does not have are registers that nobody
// reads.
#define INFO_CALL(symbol, words, follows)                                                     \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                             \
    static crossrail::mpi::NextCall next(#symbol);                                            \
    Word64 code = 0;                                                                          \
    if (crossrail::mpi::succeeded(next, code, NAMES_##words)) crossrail::mpi::follows;        \
    return code;                                                                              \
  }
#define BOTH_NAMES(name, words, follows) \
  INFO_CALL(MPI_##name, words, follows)  \
  INFO_CALL(PMPI_##name, words, follows)
BOTH_NAMES(Comm_set_info, 3, info_given(a1, a2))
BOTH_NAMES(Comm_get_info, 3, info_told(a1, a2))
BOTH_NAMES(Comm_dup_with_info, 3, info_given_to_new(a3, a2))
BOTH_NAMES(Comm_split_type, 5, info_given_to_new(a5, a4))
BOTH_NAMES(Comm_create_from_group, 5, info_given_to_new(a5, a3))
#if CROSSRAIL_SESSIONS
BOTH_NAMES(Session_init, 3, session_began())
BOTH_NAMES(Session_finalize, 1, session_ended())
#endif

// The arguments are WHOLE_CALL(symbol, words, the function that makes the call).
#define WHOLE_CALL(symbol, words, made_by)                   \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {            \
    static crossrail::mpi::NextCall next(#symbol);           \
    return crossrail::mpi::made_by(next, NAMES_##words);     \
  }
WHOLE_CALL(MPI_Comm_idup_with_info, 4, copy_with_info)
WHOLE_CALL(PMPI_Comm_idup_with_info, 4, copy_with_info)
WHOLE_CALL(MPI_Comm_free, 1, free_communicator)
WHOLE_CALL(PMPI_Comm_free, 1, free_communicator)
WHOLE_CALL(MPI_Comm_disconnect, 1, disconnect_communicator)
WHOLE_CALL(PMPI_Comm_disconnect, 1, disconnect_communicator)
