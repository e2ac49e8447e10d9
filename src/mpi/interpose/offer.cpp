#include "mpi/interpose/offer.h"

#include "mpi/observe/recorder.h"

namespace crossrail::mpi {
namespace {

// The trace comes first, because it finds out the sizes that the statistics of requests keep.
const auto& observers() {
  static TraceObserver trace;
  static Recorder recorder;
  static Statistics statistics;
  static CallObserver* const all[] = {&trace, &recorder, &statistics};
  return all;
}

}  // namespace

void tell_call_begins(ObservedCall& call) {
  for (CallObserver* const one : observers()) one->begins(call);
}

void tell_call_ended(ObservedCall& call, const CallResult& result) {
  for (CallObserver* const one : observers()) one->ended(call, result);
}

void tell_request_made(ObservedCall& call, const CallResult& result, const RequestsAt& request) {
  for (CallObserver* const one : observers()) one->made(call, result, request);
}

}  // namespace crossrail::mpi
