// CROSSRAIL_REPORT shows the times of nonblocking and persistent calls: how long the program is in the functions that start and complete their
// requests, and when native calls end. Without a report, nothing is measured.
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
  // PendingUse counts a handled call when it has ended.
  void made(ObservedCall& call, const CallResult& result, const RequestsAt& request) override;
};

// The program frees this request.
void forget_native_request(const RequestsAt& request);

// It lives during MPI_Start or MPI_Startall.
class StartTime {
 public:
  explicit StartTime(const RequestsAt& requests) : requests_(requests), began_ns_(clock_entry()) {}
  // Returns the function's code unchanged.
  Word64 returns(Word64 code);

 private:
  RequestsAt requests_;
  std::int64_t began_ns_;  // Zero means that nothing is measured.
};

// The addresses say which of its requests a function has completed. Without a flag it always completes; without indices it completes all; without a
// count of indices it completes one. MPI is not asked: under Intel MPI 2021.19, a program that tests a persistent collective never hears of its end
// once MPI_Request_get_status has reported it to us.
struct Completed {
  Word64 flag = 0, count = 0, indices = 0;
};

// It lives while the program completes these requests or tests them.
class CompletionTime : public OnStack<CompletionTime> {
 public:
  CompletionTime(const char* function, const RequestsAt& requests, const Completed& completed)
      : function_(function), requests_(requests), completed_(completed), counted_(counting() && requests.address != 0) {
    if (counted_ && outermost()) look();  // A tool's function calls MPI's, which has one of these, too.
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
  bool counted_;  // It keeps the value from the beginning.
  std::int64_t began_ns_ = 0;  // Zero means that nothing is measured.
  trace::Number traced_ = 0;
  std::vector<Overlap*> among_;  // It holds each call under way once.
  std::vector<Native> native_;
  RecordedCompletion recorded_;
};

}  // namespace crossrail::mpi
