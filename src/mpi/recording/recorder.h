// The calls of this process in their order, for CROSSRAIL_RECORD: what each was, the time since the one before, and the time in
// it. They are a part of the process's report (CROSSRAIL_REPORT). Nothing is looked at without that setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/interpose/carry.h"
#include "mpi/statistics/requests_at.h"

namespace crossrail::mpi {

enum class RecordedKind { alltoall, alltoallv, alltoallw, allreduce, allgather, reduce_scatter_block };
enum class RecordedForm { blocking, nonblocking, persistent };

bool recording();
// A call has begun on this thread, with the words of the C call. Told to the trace, too; the last two kinds are not recorded.
void note_arguments(RecordedKind kind, const Word64* words, bool large_counts);
// It has succeeded or not; a call whose arguments have not been noted is left out.
void record_call(RecordedForm form, bool succeeded, std::int64_t began_ns);
// The same, of one that has given the program this request.
void record_made(const Made& made, bool succeeded, const RequestsAt& request);
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
