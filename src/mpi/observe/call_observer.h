// CallObserver: whoever wants to know of the program's calls. Statistics, the recorder and the trace are such observers; MPI_T's variables
// show what the statistics have counted. Entry points tell them (calls/offer.h), only while something is counted (counting()).
#pragma once

#include <cstdint>

#include "base/trace.h"
#include "mpi/observe/entry_point.h"
#include "mpi/words/requests_at.h"

namespace crossrail::mpi {

// A collective call as it is in the trace. `bytes`: what this rank gives, with the block for itself. 0: not known.
struct TracedSizes {
  std::uint64_t bytes = 0;
  int ranks = 0;
};

// A call on its way through an entry point.
struct ObservedCall {
  EntryPoint& entry;
  const Word64* words;  // of the C call; null where they could not be converted
  std::int64_t began_ns = 0;
  trace::Number traced = 0;  // its event in the trace
  TracedSizes sizes;         // known to the trace's observer once the call has succeeded
};

class CallObserver {
 public:
  virtual void begins(ObservedCall&) {}
  // A blocking call has ended.
  virtual void ended(ObservedCall&, const CallResult&) {}
  // A nonblocking or persistent form returns, with this request; its address is 0 where the request cannot be read.
  virtual void made(ObservedCall&, const CallResult&, const RequestsAt&) {}

 protected:
  ~CallObserver() = default;
};

}  // namespace crossrail::mpi
