// The times of nonblocking and persistent calls, for CROSSRAIL_REPORT: how long the program is in the functions that start
// and complete their requests, and when calls of the MPI library itself end. Without a report nothing is looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "base/on_stack.h"
#include "mpi/observe/recorder.h"
#include "mpi/observe/counters.h"
#include "mpi/words/requests_at.h"
#include "mpi/observe/traced_calls.h"

namespace crossrail::mpi {

// Counts the calls of all entry points, and measures those that make requests.
class Statistics final : public CallObserver {
 public:
  void ended(ObservedCall& call, const CallResult& result) override;
  // A call that crossrail carries is counted when it has ended, by PendingUse.
  void made(ObservedCall& call, const CallResult& result, const RequestsAt& request) override;
};

// The program frees this request.
void forget_native_request(const RequestsAt& request);

// Lives while MPI_Start or MPI_Startall is carried out.
class StartTime {
 public:
  explicit StartTime(const RequestsAt& requests) : requests_(requests), began_ns_(clock_entry()) {}
  // Returns the code, that of the function.
  Word64 returns(Word64 code);

 private:
  RequestsAt requests_;
  std::int64_t began_ns_;  // 0: nothing is measured
};

// Which of the requests a function has completed: what it leaves at these addresses. Without a flag, always; without
// indices, all; without a count of indices, one. MPI is not asked: under Intel MPI 2021.19 a program that tests a persistent
// collective is never told of its end after MPI_Request_get_status has told us.
struct Completed {
  Word64 flag = 0, count = 0, indices = 0;
};

// Lives while the program completes these requests, or asks whether they are complete.
class CompletionTime : public OnStack<CompletionTime> {
 public:
  CompletionTime(const char* function, const RequestsAt& requests, const Completed& completed)
      : function_(function), requests_(requests), completed_(completed), counted_(counting() && requests.address != 0) {
    if (counted_ && outermost()) look();  // a tool's function calls MPI's, which is one of these, too
  }
  ~CompletionTime() {
    if (began_ns_ != 0) end();
    if (recorded_.any()) recorded_.end(requests_, [this](int index) { return completes(index); });
  }

 private:
  struct Native {
    int index;
    Word64 handle;
  };
  void look();
  void end();
  bool completes(int index) const;
  bool may_wait() const;
  bool completes_any() const;
  const char* function_;
  RequestsAt requests_;
  Completed completed_;
  bool counted_;  // as it was at the beginning
  std::int64_t began_ns_ = 0;  // 0: nothing is measured
  trace::Number traced_ = 0;
  std::vector<Overlap*> among_;  // the calls under way, once each
  std::vector<Native> native_;
  RecordedCompletion recorded_;
};

}  // namespace crossrail::mpi
