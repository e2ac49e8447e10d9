// The C entry points: MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, MPI_Allreduce, MPI_Allgather, MPI_Reduce_scatter_block, their nonblocking and persistent forms and
// large-count twins are offered to crossrail, other collectives are passed on. No mpi.h: a library of the wrong flavour must hand on
// arguments that it cannot interpret.

#include <utility>

#include "mpi/communicator/unanswered.h"
#include "mpi/interpose/carry.h"
#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"
#include "mpi/requests/nonblocking.h"
#include "mpi/requests/persistent.h"
#include "mpi/requests/refused_requests.h"
#include "mpi/statistics/request_times.h"
#include "mpi/tracing/traced_calls.h"

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
  const InNextCall inside;
  return static_cast<int>(next(words[index]...));
}

template <std::size_t count>
Word64 offer(Entry& entry, const Word64 (&words)[count]) {
  if (entry.next.is_nested()) return call_next(entry.next, words, std::make_index_sequence<count>());
  const std::int64_t began = counting() ? now_ns() : 0;
  const trace::Number traced = began == 0 ? 0 : trace_function(entry.counter.name());
  Carried carried = entry.carry(words, entry.large_counts);
  if (!carried.done) carried.code = call_next(entry.next, words, std::make_index_sequence<count>());
  has_ended(carried);
  if (began != 0) {
    (void)trace_returns(traced, carried, carried.code == 0);
    record_call(RecordedForm::blocking, carried.code == 0, began);
    ask_world();
    entry.counter.add(carried, now_ns() - began);
  }
  raise_error(carried);
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
  if (entry.next.is_nested()) return call_next(entry.next, words, std::make_index_sequence<count>());
  const std::int64_t began = clock_entry();
  const trace::Number traced = began == 0 ? 0 : trace_function(entry.counter.name());
  Carried carried = entry.start(words, entry.large_counts, &entry.counter);
  if (!carried.done) carried.code = call_next(entry.next, words, std::make_index_sequence<count>());
  const RequestsAt request{1, words[count - 1]};
  Unanswered::note_made(carried, request);
  if (began != 0) note_made({entry.counter, entry.form, began, traced}, carried, request);
  return carried.code;
}

// MPI_Start, MPI_Startall: these requests.
template <class... Words>
Word64 hand_on_start(NextCall& next, const RequestsAt& requests, Words... words) {
  if (next.is_nested()) return next(words...);
  StartTime time(requests);
  const Carried carried = start_requests(requests.count, requests.address);
  if (carried.done) return time.returns(carried.code);
  const InNextCall inside;
  return time.returns(next(words...));
}

Word64 hand_on_free(NextCall& next, Word64 request) {
  if (next.is_nested()) return next(request);
  if (const Carried refused = refuse_free(request); refused.done) return refused.code;
  free_request(request);
  forget_native_request({1, request});
  const InNextCall inside;
  return next(request);
}

Word64 hand_on_cancel(NextCall& next, Word64 request) {
  if (next.is_nested()) return next(request);
  if (const Carried refused = refuse_cancel(request); refused.done) return refused.code;
  const InNextCall inside;
  return next(request);
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

// By their PMPI_ names, too: some ranks may call those (tools that wrap on some of them only), and all must come to
// the same answer.
#define OFFERED_AS(symbol, name, function, large_counts, words)                                      \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                                    \
    static crossrail::mpi::Entry entry{crossrail::mpi::NextCall(#symbol), {name, "c"},               \
                                       crossrail::mpi::function, large_counts};                      \
    return crossrail::mpi::offer(entry, {NAMES_##words});                                            \
  }
#define OFFERED(symbol, function, large_counts, words)          \
  OFFERED_AS(symbol, #symbol, function, large_counts, words)    \
  OFFERED_AS(P##symbol, #symbol, function, large_counts, words)
OFFERED(MPI_Alltoall, carry_alltoall, false, 7)
OFFERED(MPI_Alltoallv, carry_alltoallv, false, 9)
OFFERED(MPI_Alltoallw, carry_alltoallw, false, 9)
OFFERED(MPI_Allreduce, carry_allreduce, false, 6)
OFFERED(MPI_Allgather, carry_allgather, false, 7)
OFFERED(MPI_Reduce_scatter_block, carry_reduce_scatter_block, false, 6)

#define STARTED_AS(symbol, name, function, large_counts, form, words)                                    \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                                    \
    static crossrail::mpi::StartEntry entry{crossrail::mpi::NextCall(#symbol), {name, "c"},          \
                                            crossrail::mpi::function, large_counts, crossrail::mpi::Form::form}; \
    return crossrail::mpi::offer(entry, {NAMES_##words});                                            \
  }
#define STARTED_BY_BOTH(symbol, function, large_counts, form, words)         \
  STARTED_AS(symbol, #symbol, function, large_counts, form, words)           \
  STARTED_AS(P##symbol, #symbol, function, large_counts, form, words)
#define STARTED(symbol, function, large_counts, words) STARTED_BY_BOTH(symbol, function, large_counts, nonblocking, words)
#define INITIATED(symbol, function, large_counts, words) STARTED_BY_BOTH(symbol, function, large_counts, persistent, words)
STARTED(MPI_Ialltoall, start_alltoall, false, 8)
STARTED(MPI_Ialltoallv, start_alltoallv, false, 10)
STARTED(MPI_Ialltoallw, start_alltoallw, false, 10)
STARTED(MPI_Iallreduce, start_allreduce, false, 7)
STARTED(MPI_Iallgather, start_allgather, false, 8)
STARTED(MPI_Ireduce_scatter_block, start_reduce_scatter_block, false, 7)

CROSSRAIL_EXPORT Word64 MPI_Finalize() {
  static crossrail::mpi::NextCall next("MPI_Finalize");
  crossrail::mpi::finalize_begins();
  return next();
}

INITIATED(MPI_Alltoall_init, init_alltoall, false, 9)
INITIATED(MPI_Alltoallv_init, init_alltoallv, false, 11)
INITIATED(MPI_Alltoallw_init, init_alltoallw, false, 11)
INITIATED(MPI_Allreduce_init, init_allreduce, false, 8)
INITIATED(MPI_Allgather_init, init_allgather, false, 9)
INITIATED(MPI_Reduce_scatter_block_init, init_reduce_scatter_block, false, 8)
#if CROSSRAIL_MPIX_INIT
STARTED_AS(MPIX_Alltoall_init, "MPI_Alltoall_init", init_alltoall, false, persistent, 9)
STARTED_AS(PMPIX_Alltoall_init, "MPI_Alltoall_init", init_alltoall, false, persistent, 9)
STARTED_AS(MPIX_Alltoallv_init, "MPI_Alltoallv_init", init_alltoallv, false, persistent, 11)
STARTED_AS(PMPIX_Alltoallv_init, "MPI_Alltoallv_init", init_alltoallv, false, persistent, 11)
STARTED_AS(MPIX_Alltoallw_init, "MPI_Alltoallw_init", init_alltoallw, false, persistent, 11)
STARTED_AS(PMPIX_Alltoallw_init, "MPI_Alltoallw_init", init_alltoallw, false, persistent, 11)
STARTED_AS(MPIX_Allreduce_init, "MPI_Allreduce_init", init_allreduce, false, persistent, 8)
STARTED_AS(PMPIX_Allreduce_init, "MPI_Allreduce_init", init_allreduce, false, persistent, 8)
STARTED_AS(MPIX_Allgather_init, "MPI_Allgather_init", init_allgather, false, persistent, 9)
STARTED_AS(PMPIX_Allgather_init, "MPI_Allgather_init", init_allgather, false, persistent, 9)
STARTED_AS(MPIX_Reduce_scatter_block_init, "MPI_Reduce_scatter_block_init", init_reduce_scatter_block, false, persistent, 8)
STARTED_AS(PMPIX_Reduce_scatter_block_init, "MPI_Reduce_scatter_block_init", init_reduce_scatter_block, false, persistent, 8)
#endif

#define START(symbol)                                                                                    \
  CROSSRAIL_EXPORT Word64 symbol(Word64 request) {                                                       \
    static crossrail::mpi::NextCall next(#symbol);                                                       \
    return crossrail::mpi::hand_on_start(next, {1, request}, request);                                   \
  }
#define STARTALL(symbol)                                                                                 \
  CROSSRAIL_EXPORT Word64 symbol(Word64 count, Word64 requests) {                                        \
    static crossrail::mpi::NextCall next(#symbol);                                                       \
    return crossrail::mpi::hand_on_start(next, {static_cast<int>(count), requests}, count, requests);    \
  }
START(MPI_Start)
START(PMPI_Start)
STARTALL(MPI_Startall)
STARTALL(PMPI_Startall)
#define GIVES_UP(symbol, function)                       \
  CROSSRAIL_EXPORT Word64 symbol(Word64 request) {       \
    static crossrail::mpi::NextCall next(#symbol);       \
    return crossrail::mpi::function(next, request);      \
  }
GIVES_UP(MPI_Request_free, hand_on_free)
GIVES_UP(PMPI_Request_free, hand_on_free)
GIVES_UP(MPI_Cancel, hand_on_cancel)
GIVES_UP(PMPI_Cancel, hand_on_cancel)

#define BLOCKING_AS(symbol, name, words, comm, all_wait)    \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {           \
    static crossrail::mpi::NextCall next(#symbol);          \
    if (next.is_nested()) return next(NAMES_##words);       \
    const crossrail::mpi::TracedFunction traced(name);      \
    if (all_wait) crossrail::mpi::blocking_collective(a##comm); \
    const crossrail::mpi::InNextCall inside;                \
    return next(NAMES_##words);                             \
  }
#define BLOCKING(name, lower, upper, words, comm, all_wait)     \
  BLOCKING_AS(MPI_##name, "MPI_" #name, words, comm, all_wait)  \
  BLOCKING_AS(PMPI_##name, "MPI_" #name, words, comm, all_wait)
#include "mpi/interpose/blocking.def"
#include "mpi/recording/recorder.h"

// Large counts (MPI-4). Open MPI 4 and 5 have none, and a program must not find any there.
#if CROSSRAIL_LARGE_COUNTS
OFFERED(MPI_Alltoall_c, carry_alltoall, true, 7)
OFFERED(MPI_Alltoallv_c, carry_alltoallv, true, 9)
OFFERED(MPI_Alltoallw_c, carry_alltoallw, true, 9)
OFFERED(MPI_Allreduce_c, carry_allreduce, true, 6)
OFFERED(MPI_Allgather_c, carry_allgather, true, 7)
OFFERED(MPI_Reduce_scatter_block_c, carry_reduce_scatter_block, true, 6)
STARTED(MPI_Ialltoall_c, start_alltoall, true, 8)
STARTED(MPI_Ialltoallv_c, start_alltoallv, true, 10)
STARTED(MPI_Ialltoallw_c, start_alltoallw, true, 10)
STARTED(MPI_Iallreduce_c, start_allreduce, true, 7)
STARTED(MPI_Iallgather_c, start_allgather, true, 8)
STARTED(MPI_Ireduce_scatter_block_c, start_reduce_scatter_block, true, 7)
INITIATED(MPI_Alltoall_init_c, init_alltoall, true, 9)
INITIATED(MPI_Alltoallv_init_c, init_alltoallv, true, 11)
INITIATED(MPI_Alltoallw_init_c, init_alltoallw, true, 11)
INITIATED(MPI_Allreduce_init_c, init_allreduce, true, 8)
INITIATED(MPI_Allgather_init_c, init_allgather, true, 9)
INITIATED(MPI_Reduce_scatter_block_init_c, init_reduce_scatter_block, true, 8)
BLOCKING(Bcast_c, , , 5, 5, false)
BLOCKING(Reduce_c, , , 7, 7, false)
#endif
#undef BLOCKING
