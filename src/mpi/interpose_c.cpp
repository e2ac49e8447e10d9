// The C entry points: MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw and their large-count twins are
// offered to crossrail, the other collectives of the mission are passed on. No mpi.h: a library of
// the wrong flavour must hand on arguments that it cannot interpret.

#include <utility>

#include "mpi/carry.h"
#include "mpi/next_call.h"
#include "mpi/words.h"

namespace crossrail::mpi {
namespace {

struct Entry {
  NextCall next;
  CallCounter counter;
  Carried (*carry)(const Word64* words, bool large_counts);
  bool large_counts;
};

template <std::size_t... index>
int call_next(NextCall& next, const Word64* words, std::index_sequence<index...>) {
  return static_cast<int>(next(words[index]...));
}

template <std::size_t count>
Word64 offer(Entry& entry, const Word64 (&words)[count]) {
  const std::int64_t began = counting() ? now_ns() : 0;
  Carried carried = entry.carry(words, entry.large_counts);
  if (!carried.done) carried.code = call_next(entry.next, words, std::make_index_sequence<count>());
  if (began != 0) entry.counter.add(carried, now_ns() - began);
  return carried.code;
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

#define OFFERED(symbol, function, large_counts, words)                                               \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                                    \
    static crossrail::mpi::Entry entry{crossrail::mpi::NextCall(#symbol), {#symbol, "c"},            \
                                       crossrail::mpi::function, large_counts};                      \
    return crossrail::mpi::offer(entry, {NAMES_##words});                                            \
  }
OFFERED(MPI_Alltoall, carry_alltoall, false, 7)
OFFERED(MPI_Alltoallv, carry_alltoallv, false, 9)
OFFERED(MPI_Alltoallw, carry_alltoallw, false, 9)

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
OFFERED(MPI_Alltoall_c, carry_alltoall, true, 7)
OFFERED(MPI_Alltoallv_c, carry_alltoallv, true, 9)
OFFERED(MPI_Alltoallw_c, carry_alltoallw, true, 9)
#define PASSED(name, words) PASSED_AS(MPI_##name##_c, words)
#include "mpi/passed.def"
#undef PASSED
#endif
