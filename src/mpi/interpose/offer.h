// offer() is what an entry point does with a call, in C and in Fortran: crossrail may handle it, otherwise the next definition of its name
// gets it untouched. The observers are told. This header does not include mpi.h: a library of the wrong flavour hands on arguments that it
// cannot interpret.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include "mpi/calls/blocking.h"
#include "mpi/calls/nonblocking.h"
#include "mpi/calls/persistent.h"
#include "mpi/communicator/other_calls.h"
#include "mpi/communicator/unanswered.h"
#include "mpi/observe/traced_calls.h"
#include "mpi/observe/traffic.h"
#include "mpi/requests/request_times.h"

namespace crossrail::mpi {

// These functions tell the observers, always in the same order.
void tell_call_begins(ObservedCall& call);
void tell_call_ended(ObservedCall& call, const CallResult& result);
void tell_request_made(ObservedCall& call, const CallResult& result, const RequestsAt& request);

template <class... Words>
[[gnu::always_inline]] inline Word64 hand_on(NextCall& next, Words... words) {
  const InNextCall inside;
  return next(words...);
}
template <std::size_t... index>
Word64 call_next(NextCall& next, const Word64* words, std::index_sequence<index...>) {
  return hand_on(next, words[index]...);
}

// `Arguments` says what the words mean in a language:
//   c_words()            the arguments of the C function, or null if they cannot be known; the call is then native
//   code(returned)       MPI's code, from what the next definition has returned
//   give_back(result)    gives the program what a call that crossrail has handled returns
//   request()            where the program finds its request afterwards
template <class Arguments, std::size_t count>
Word64 offer_blocking(EntryPoint& entry, const Word64 (&words)[count]) {
  constexpr auto kAll = std::make_index_sequence<count>();
  if (entry.next.is_nested()) return call_next(entry.next, words, kAll);
  Arguments arguments(entry, words, count);
  ObservedCall observed{entry, arguments.c_words(), counting() ? now_ns() : 0};
  if (observed.began_ns != 0) tell_call_begins(observed);
  CallResult result;
  if (observed.words != nullptr) run_blocking(entry, observed.words, result);
  if (result.done) arguments.give_back(result);
  else result.code = arguments.code(call_next(entry.next, words, kAll));
  call_ended(result);
  if (observed.began_ns != 0) tell_call_ended(observed, result);
  // This comes last, because an error handler may not return.
  if (result.to_be_raised) raise_error(result);
  return result.code;
}

template <class Arguments, std::size_t count>
Word64 offer_request(EntryPoint& entry, const Word64 (&words)[count]) {
  constexpr auto kAll = std::make_index_sequence<count>();
  if (entry.next.is_nested()) return call_next(entry.next, words, kAll);
  Arguments arguments(entry, words, count);
  ObservedCall observed{entry, arguments.c_words(), clock_entry()};
  if (observed.began_ns != 0) tell_call_begins(observed);
  CallResult result;
  if (observed.words != nullptr) result = entry.form == Form::nonblocking ? start_nonblocking(entry, observed.words) : init_persistent(entry, observed.words);
  if (result.done) arguments.give_back(result);
  else result.code = arguments.code(call_next(entry.next, words, kAll));
  const RequestsAt request = arguments.request();
  Unanswered::note_made(result, request);
  if (observed.began_ns != 0) tell_request_made(observed, result, request);
  return result.code;
}

// Hands on a blocking call that is native without a look at its arguments. The last word is its communicator.
template <class... Words>
[[gnu::always_inline]] inline bool hand_on_if_always_native(EntryPoint& entry, Word64& returned, Words... words) {
  const Word64 comm = std::get<sizeof...(words) - 1>(std::make_tuple(words...));
  if (entry.form != Form::blocking || counting() || !is_always_native(comm)) return false;
  returned = hand_on(entry.next, words...);
  note_native();
  return true;
}

template <class Arguments, std::size_t count>
Word64 offer(EntryPoint& entry, const Word64 (&words)[count]) {
  return entry.form == Form::blocking ? offer_blocking<Arguments>(entry, words) : offer_request<Arguments>(entry, words);
}

}  // namespace crossrail::mpi
