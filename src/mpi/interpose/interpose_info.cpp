// The C calls that give a communicator info, or tell it: for the keys that are ours (communicator/info_keys.h).

#include "mpi/interpose/info_call.h"
#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

// Makes the call; false where what has become of it is nothing to us.
template <class... Words>
bool succeeded(NextCall& next, Word64& code, Words... words) {
  if (next.is_nested()) {
    code = next(words...);
    return false;
  }
  const InNextCall inside;
  code = next(words...);
  return static_cast<int>(code) == 0;
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

// INFO_CALL(symbol, words, what follows where it has succeeded); words that the call does not have are registers that nobody reads.
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
