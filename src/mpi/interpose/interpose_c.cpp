// The C entry points: MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, their nonblocking forms and large-count twins are
// offered to crossrail, other collectives are passed on. No mpi.h: a library of the wrong flavour must hand on
// arguments that it cannot interpret.

#include <utility>

#include "mpi/interpose/carry.h"
#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"
#include "mpi/requests/nonblocking.h"
#include "mpi/requests/persistent.h"
#include "mpi/statistics/request_times.h"

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

// Nonblocking and persistent: what is carried is counted when it has ended.
struct StartEntry {
  NextCall next;
  CallCounter counter;
  Carried (*start)(const Word64* words, bool large_counts, CallCounter* counter);
  bool large_counts;
  Form form;
};

// The last word is the address of the request.
template <std::size_t count>
Word64 offer(StartEntry& entry, const Word64 (&words)[count]) {
  const std::int64_t began = clock_entry();
  Carried carried = entry.start(words, entry.large_counts, &entry.counter);
  if (!carried.done) carried.code = call_next(entry.next, words, std::make_index_sequence<count>());
  if (began != 0) note_made({entry.counter, entry.form, began}, carried, {1, words[count - 1]});
  return carried.code;
}

// Of collectives that are not ours.
Carried leave(const Word64*, bool, CallCounter*) {
  (void)library();  // says once if this is the wrong flavour
  return {};
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

#define STARTED_AS(symbol, name, function, large_counts, form, words)                                    \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                                    \
    static crossrail::mpi::StartEntry entry{crossrail::mpi::NextCall(#symbol), {name, "c"},          \
                                            crossrail::mpi::function, large_counts, crossrail::mpi::Form::form}; \
    return crossrail::mpi::offer(entry, {NAMES_##words});                                            \
  }
#define STARTED(symbol, function, large_counts, words) STARTED_AS(symbol, #symbol, function, large_counts, nonblocking, words)
#define INITIATED(symbol, function, large_counts, words) STARTED_AS(symbol, #symbol, function, large_counts, persistent, words)
STARTED(MPI_Ialltoall, start_alltoall, false, 8)
STARTED(MPI_Ialltoallv, start_alltoallv, false, 10)
STARTED(MPI_Ialltoallw, start_alltoallw, false, 10)

INITIATED(MPI_Alltoall_init, init_alltoall, false, 9)
INITIATED(MPI_Alltoallv_init, init_alltoallv, false, 11)
INITIATED(MPI_Alltoallw_init, init_alltoallw, false, 11)
#if CROSSRAIL_MPIX_INIT
STARTED_AS(MPIX_Alltoall_init, "MPI_Alltoall_init", init_alltoall, false, persistent, 9)
STARTED_AS(MPIX_Alltoallv_init, "MPI_Alltoallv_init", init_alltoallv, false, persistent, 11)
STARTED_AS(MPIX_Alltoallw_init, "MPI_Alltoallw_init", init_alltoallw, false, persistent, 11)
#endif

CROSSRAIL_EXPORT Word64 MPI_Start(Word64 request) {
  static crossrail::mpi::NextCall next("MPI_Start");
  crossrail::mpi::StartTime time({1, request});
  const crossrail::mpi::Carried carried = crossrail::mpi::start_requests(1, request);
  return time.returns(carried.done ? carried.code : next(request));
}
CROSSRAIL_EXPORT Word64 MPI_Startall(Word64 count, Word64 requests) {
  static crossrail::mpi::NextCall next("MPI_Startall");
  crossrail::mpi::StartTime time({static_cast<int>(count), requests});
  const crossrail::mpi::Carried carried = crossrail::mpi::start_requests(count, requests);
  return time.returns(carried.done ? carried.code : next(count, requests));
}
CROSSRAIL_EXPORT Word64 MPI_Request_free(Word64 request) {
  static crossrail::mpi::NextCall next("MPI_Request_free");
  crossrail::mpi::free_request(request);
  crossrail::mpi::forget_native_request({1, request});
  return next(request);
}

CROSSRAIL_EXPORT Word64 MPI_Finalize() {
  static crossrail::mpi::NextCall next("MPI_Finalize");
  crossrail::mpi::finalize_begins();
  return next();
}

#define BLOCKING_AS(symbol, words, comm)                    \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {           \
    static crossrail::mpi::NextCall next(#symbol);          \
    crossrail::mpi::blocking_collective(a##comm);           \
    return next(NAMES_##words);                             \
  }
#define BLOCKING(name, lower, upper, words, comm) BLOCKING_AS(MPI_##name, words, comm)
#include "mpi/interpose/blocking.def"
#undef BLOCKING

#define PASSED(name, form, words) STARTED_AS(MPI_##name, "MPI_" #name, leave, false, form, words)
#include "mpi/interpose/passed.def"
#undef PASSED
CROSSRAIL_EXPORT Word64 MPI_Allreduce(WORDS_6) {
  static crossrail::mpi::NextCall next("MPI_Allreduce");
  static crossrail::mpi::CallCounter counter("MPI_Allreduce", "c");
  crossrail::mpi::blocking_collective(a6);
  return crossrail::mpi::pass(next, counter, NAMES_6);
}

// Large counts (MPI-4). Open MPI 4 and 5 have none, and a program must not find any there.
#if CROSSRAIL_LARGE_COUNTS
OFFERED(MPI_Alltoall_c, carry_alltoall, true, 7)
OFFERED(MPI_Alltoallv_c, carry_alltoallv, true, 9)
OFFERED(MPI_Alltoallw_c, carry_alltoallw, true, 9)
STARTED(MPI_Ialltoall_c, start_alltoall, true, 8)
STARTED(MPI_Ialltoallv_c, start_alltoallv, true, 10)
STARTED(MPI_Ialltoallw_c, start_alltoallw, true, 10)
INITIATED(MPI_Alltoall_init_c, init_alltoall, true, 9)
INITIATED(MPI_Alltoallv_init_c, init_alltoallv, true, 11)
INITIATED(MPI_Alltoallw_init_c, init_alltoallw, true, 11)
CROSSRAIL_EXPORT Word64 MPI_Allreduce_c(WORDS_6) {
  static crossrail::mpi::NextCall next("MPI_Allreduce_c");
  static crossrail::mpi::CallCounter counter("MPI_Allreduce_c", "c");
  return crossrail::mpi::pass(next, counter, NAMES_6);
}
#define PASSED(name, form, words) STARTED_AS(MPI_##name##_c, "MPI_" #name "_c", leave, true, form, words)
#include "mpi/interpose/passed.def"
#undef PASSED
#endif
