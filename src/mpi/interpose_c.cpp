// The C entry points: MPI_Alltoall and MPI_Alltoall_c are offered to crossrail, the other
// collectives of the mission are passed on. No mpi.h: a library of the wrong flavour must hand on
// arguments that it cannot interpret.

#include "mpi/carry.h"
#include "mpi/next_call.h"
#include "mpi/words.h"

namespace crossrail::mpi {
namespace {

struct Entry {
  NextCall next;
  CallCounter counter;
  bool large_counts;
};

Word64 alltoall(Entry& entry, const Word64 (&words)[7]) {
  const std::int64_t began = counting() ? now_ns() : 0;
  Carried carried = carry_alltoall(words, entry.large_counts);
  if (!carried.done) {
    carried.code = static_cast<int>(
        entry.next(words[0], words[1], words[2], words[3], words[4], words[5], words[6]));
  }
  if (began != 0) entry.counter.add(carried, now_ns() - began);
  return carried.code;
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

CROSSRAIL_EXPORT Word64 MPI_Alltoall(WORDS_7) {
  static crossrail::mpi::Entry entry{crossrail::mpi::NextCall("MPI_Alltoall"), {"MPI_Alltoall", "c"}, false};
  return crossrail::mpi::alltoall(entry, {NAMES_7});
}

#define PASSED_AS(symbol, words)                                       \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                      \
    static crossrail::mpi::NextCall next(#symbol);                     \
    static crossrail::mpi::CallCounter counter(#symbol, "c");          \
    return crossrail::mpi::pass(next, counter, NAMES_##words);         \
  }
#define PASSED(name, words) PASSED_AS(MPI_##name, words)
#include "mpi/passed.def"
#undef PASSED

// Large counts (MPI-4). Open MPI 4 and 5 have none, and a program must not find any there.
#if CROSSRAIL_LARGE_COUNTS
CROSSRAIL_EXPORT Word64 MPI_Alltoall_c(WORDS_7) {
  static crossrail::mpi::Entry entry{crossrail::mpi::NextCall("MPI_Alltoall_c"), {"MPI_Alltoall_c", "c"}, true};
  return crossrail::mpi::alltoall(entry, {NAMES_7});
}
#define PASSED(name, words) PASSED_AS(MPI_##name##_c, words)
#include "mpi/passed.def"
#undef PASSED
#endif
