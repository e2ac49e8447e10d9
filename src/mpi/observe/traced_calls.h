// These functions turn the program's MPI calls into events of the trace (base/trace.h), for CROSSRAIL_TRACE. This header does not include
// mpi.h, so arguments come as words.
#pragma once

#include <cstdint>

#include "base/trace.h"
#include "mpi/observe/call_observer.h"

namespace crossrail::mpi {

bool tracing();

class TraceObserver final : public CallObserver {
 public:
  void begins(ObservedCall& call) override;
  void ended(ObservedCall& call, const CallResult& result) override;
  void made(ObservedCall& call, const CallResult& result, const RequestsAt&) override { ended(call, result); }
};

// The program calls the function `name`. This returns its event, or 0 if nothing is traced.
trace::Number trace_function(const char* name);
// Traces a call of this function that has ended now.
void trace_function(const char* name, std::int64_t began_ns);

// A nonblocking or persistent call begins.
trace::Number trace_pending(const char* name, const TracedSizes& sizes, std::int64_t began_ns = 0);
void tell_sizes(trace::Number event, const TracedSizes& sizes);

// TracedFunction lives while a function is handed on to MPI.
class TracedFunction {
 public:
  explicit TracedFunction(const char* name) : event_(tracing() ? trace_function(name) : 0) {}
  ~TracedFunction() {
    if (event_ == 0) return;
    trace::tell(event_, {.algorithm = "native"});
    trace::end(event_);
  }
  TracedFunction(const TracedFunction&) = delete;
  TracedFunction& operator=(const TracedFunction&) = delete;

 private:
  trace::Number event_;
};

}  // namespace crossrail::mpi
