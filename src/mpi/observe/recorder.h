// The calls of this process in their order, for CROSSRAIL_RECORD: what each was, the time since the one before, and the time in
// it. They are a part of the process's report (CROSSRAIL_REPORT). Nothing is looked at without that setting.
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

// Persistent calls have been started; the program frees the request.
void record_started(const RequestsAt& requests, std::int64_t began_ns);
void record_freed(const RequestsAt& request);

// Lives in a CompletionTime: which recorded calls are among the requests, and which have been completed.
class RecordedCompletion {
 public:
  void look(const RequestsAt& requests);
  bool any() const { return !among_.empty(); }
  // `completes(index)`: the function says so of that request.
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

// ',"recorded":{...}' for the report; empty where nothing is recorded.
std::string recorded_json();

}  // namespace crossrail::mpi
