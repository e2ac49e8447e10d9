// The program's MPI calls as events of the trace (base/trace.h), for CROSSRAIL_TRACE. No mpi.h: arguments come as words.
#pragma once

#include <cstdint>

#include "base/trace.h"
#include "mpi/interpose/carry.h"

namespace crossrail::mpi {

enum class RecordedKind;

bool tracing();
// What the call that has begun on this thread was given, by its C words: of use while it lasts.
void note_traced_arguments(RecordedKind kind, const Word64* words, bool large_counts);

// A collective call as it is in the trace. `bytes`: what this rank gives, blocks for itself too. 0: not known.
struct TracedSizes {
  std::uint64_t bytes = 0;
  int ranks = 0;
};

// The program calls this function. 0: nothing is traced.
trace::Number trace_function(const char* name);
// The same after the fact, of one that has ended now.
void trace_function(const char* name, std::int64_t began_ns);
// It ends; whether it has succeeded: only then its arguments make sense.
TracedSizes trace_returns(trace::Number event, const Carried& carried, bool succeeded);

// A nonblocking or persistent call begins.
trace::Number trace_pending(const char* name, const TracedSizes& sizes, std::int64_t began_ns = 0);
void tell_sizes(trace::Number event, const TracedSizes& sizes);

// Lives while a function is handed on to the MPI library.
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
