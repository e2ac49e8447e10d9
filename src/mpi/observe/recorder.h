// For CROSSRAIL_RECORD the recorder keeps the calls of this process in their order: what each was, the time since the one before, and the
// time inside it. They become a part of the process's report (CROSSRAIL_REPORT). Without that setting the recorder looks at nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/observe/call_observer.h"

namespace crossrail::mpi {

bool recording();

class Recorder final : public CallObserver {
 public:
  // A call that has failed, or whose arguments are not known, is left out.
  void ended(ObservedCall& call, const CallResult& result) override;
  void made(ObservedCall& call, const CallResult& result, const RequestsAt& request) override;
};

// The program has started persistent calls, or frees a request.
void record_started(const RequestsAt& requests, std::int64_t began_ns);
void record_freed(const RequestsAt& request);

// RecordedCompletion lives in a CompletionTime. It finds the recorded calls among the requests before the MPI function, and those that have
// been completed after it.
class RecordedCompletion {
 public:
  void look(const RequestsAt& requests);
  bool any() const { return !among_.empty(); }
  // `completes(index)` says whether the function has completed that request.
  template <class Completes>
  void end(const RequestsAt& requests, const Completes& completes) {
    std::vector<Word64> done;
    for (const auto& [index, handle] : among_) {
      if (requests[index] != handle || completes(index)) done.push_back(handle);
    }
    if (!done.empty()) record_completed(done);
  }

 private:
  struct Among {
    int index;
    Word64 handle;
  };
  void record_completed(const std::vector<Word64>& handles);
  std::vector<Among> among_;
  std::int64_t began_ns_ = 0;
};

// Returns ',"recorded":{...}' for the report, or an empty text if nothing is recorded.
std::string recorded_json();

}  // namespace crossrail::mpi
