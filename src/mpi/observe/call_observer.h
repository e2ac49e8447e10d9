// CallObserver is the interface of everything that wants to know of the program's calls: statistics, the recorder and the trace. MPI_T's
// variables show what the statistics have counted. Entry points tell the observers (interpose/offer.h), but only while something is counted
// (counting()).
#pragma once

#include <cstdint>

#include "base/trace.h"
#include "mpi/observe/entry_point.h"
#include "mpi/words/requests_at.h"

namespace crossrail::mpi {

// This is the size of a collective call as the trace shows it. `bytes` is what this rank gives, with the block for itself, or 0 if it is not
// known.
struct TracedSizes {
  std::uint64_t bytes = 0;
  int ranks = 0;
};

// This is a call on its way through an entry point.
struct ObservedCall {
  EntryPoint& entry;
  const Word64* words;  // These are the arguments of the C call, or null if they could not be converted.
  std::int64_t began_ns = 0;
  trace::Number traced = 0;  // This is the event of this call in the trace.
  TracedSizes sizes;         // The trace's observer sets this once the call has succeeded.
};

class CallObserver {
 public:
  virtual void begins(ObservedCall&) {}
  // A blocking call has ended.
  virtual void ended(ObservedCall&, const CallResult&) {}
  // A nonblocking or persistent form returns with this request. The address is 0 if the request cannot be read.
  virtual void made(ObservedCall&, const CallResult&, const RequestsAt&) {}

 protected:
  ~CallObserver() = default;
};

}  // namespace crossrail::mpi
