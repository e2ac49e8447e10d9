// This file defines the C entry points. The collectives of entry_points.def are offered to crossrail in all their forms. MPI_Start and other
// functions for their requests, and other collectives, are looked at and passed on. This file does not include mpi.h: a library of the wrong
// flavour must hand on arguments that it cannot interpret.

#include "mpi/interpose/offer.h"
#include "mpi/requests/refused_requests.h"
#include "mpi/words/parameter_lists.h"

namespace crossrail::mpi {
namespace {

class CArguments {
 public:
  CArguments(const EntryPoint&, const Word64* words, std::size_t count) : words_(words), count_(count) {}
  const Word64* c_words() const { return words_; }
  int code(Word64 returned) const { return static_cast<int>(returned); }
  void give_back(const CallResult&) const {}
  RequestsAt request() const { return {1, words_[count_ - 1]}; }

 private:
  const Word64* words_;
  std::size_t count_;
};

// Handles MPI_Start and MPI_Startall of these requests.
template <class... Words>
Word64 hand_on_start(NextCall& next, const RequestsAt& requests, Words... words) {
  if (next.is_nested()) return next(words...);
  StartTime time(requests);
  const CallResult carried = start_requests(requests.count, requests.address);
  if (carried.done) return time.returns(carried.code);
  const InNextCall inside;
  return time.returns(next(words...));
}

Word64 hand_on_free(NextCall& next, Word64 request) {
  if (next.is_nested()) return next(request);
  if (const CallResult refused = refuse_free(request); refused.done) return refused.code;
  free_request(request);
  forget_native_request({1, request});
  const InNextCall inside;
  return next(request);
}

Word64 hand_on_cancel(NextCall& next, Word64 request) {
  if (next.is_nested()) return next(request);
  if (const CallResult refused = refuse_cancel(request); refused.done) return refused.code;
  const InNextCall inside;
  return next(request);
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

#define OFFERED_AS(symbol, c_name, row, form, large, words)                                                            \
  CROSSRAIL_EXPORT Word64 symbol(WORDS(words)) {                                                                       \
    using namespace crossrail::mpi;                                                                                    \
    static EntryPoint entry(#symbol, c_name, {Function::row, Form::form, Language::c, large});                         \
    Word64 returned = 0;                                                                                               \
    if (hand_on_if_always_native(entry, returned, NAMES(words))) return returned;                                      \
    return offer<CArguments>(entry, {NAMES(words)});                                                                   \
  }
// Each name has a PMPI_ twin: tools that wrap calls on some ranks only make those ranks call that one, and all ranks must come to the same
// answer.
#define OFFERED(symbol, row, form, large, words)                \
  OFFERED_AS(symbol, #symbol, row, form, large, words)          \
  OFFERED_AS(P##symbol, #symbol, row, form, large, words)

#define ENTRY_POINT(Name, name, NAME, words, ...)                              \
  OFFERED(MPI_##Name, name, blocking, false, words)                            \
  OFFERED(MPI_I##name, name, nonblocking, false, MORE_ONE(words))                \
  OFFERED(MPI_##Name##_init, name, persistent, false, MORE_TWO(words))
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT

#if CROSSRAIL_MPIX_INIT
#define ENTRY_POINT(Name, name, NAME, words, ...)                                                       \
  OFFERED_AS(MPIX_##Name##_init, "MPI_" #Name "_init", name, persistent, false, MORE_TWO(words))          \
  OFFERED_AS(PMPIX_##Name##_init, "MPI_" #Name "_init", name, persistent, false, MORE_TWO(words))
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT
#endif

// Large counts came with MPI-4. Open MPI 4 and 5 lack them, and a program that looks for them must not find ours there.
#if CROSSRAIL_LARGE_COUNTS
#define ENTRY_POINT(Name, name, NAME, words, ...)                              \
  OFFERED(MPI_##Name##_c, name, blocking, true, words)                         \
  OFFERED(MPI_I##name##_c, name, nonblocking, true, MORE_ONE(words))             \
  OFFERED(MPI_##Name##_init_c, name, persistent, true, MORE_TWO(words))
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT
#endif

CROSSRAIL_EXPORT Word64 MPI_Finalize() {
  static crossrail::mpi::NextCall next("MPI_Finalize");
  crossrail::mpi::finalize_begins();
  return next();
}

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
#if CROSSRAIL_LARGE_COUNTS
BLOCKING(Bcast_c, , , 5, 5, false)
BLOCKING(Reduce_c, , , 7, 7, false)
#endif
#undef BLOCKING
