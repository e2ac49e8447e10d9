#include "mpi/requests/request_times.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "mpi/library/arguments.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {
namespace {

struct TimedNativeCall {
  CallCounter* counter;
  bool under_way;
  TracedSizes sizes;
  trace::Number traced;
  Overlap& overlap() const { return counter->overlap(By::native); }
};

std::mutex calls_mutex;  // It protects the calls.
std::atomic<std::size_t> calls_known{0};
std::unordered_map<Word64, TimedNativeCall>& native_calls() {
  static auto& all = *new std::unordered_map<Word64, TimedNativeCall>;  // It outlives every static object.
  return all;
}

void add(std::vector<Overlap*>& all, Overlap* one) {
  if (one != nullptr && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

// Returns false if no such call is known. It makes a copy, so that no lock is held while MPI is called.
bool find_native(Word64 handle, TimedNativeCall& found) {
  if (calls_known.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(calls_mutex);
  const auto at = native_calls().find(handle);
  if (at == native_calls().end()) return false;
  found = at->second;
  return true;
}

// The request no longer exists, unless it can be started again.
void end_native(Word64 handle, std::int64_t now_ns, bool gone) {
  const std::lock_guard lock(calls_mutex);
  const auto at = native_calls().find(handle);
  if (at == native_calls().end()) return;
  if (at->second.under_way) at->second.overlap().ends(now_ns);
  if (at->second.under_way) trace::end(at->second.traced);
  at->second.under_way = false;
  if (gone) native_calls().erase(at);
  calls_known.store(native_calls().size(), std::memory_order_relaxed);
}

trace::Number trace_native(const CallCounter& counter, const TracedSizes& sizes, std::int64_t began_ns) {
  const trace::Number event = trace_pending(counter.name(), sizes, began_ns);
  trace::tell(event, {.algorithm = "native"});
  return event;
}

// Sets the sizes of a call of ours that began before they were known.
void tell_sizes_of(const RequestsAt& request, const TracedSizes& sizes) {
  OurRequest* const ours = tracing() ? find_request(handle_from<MPI_Request>(request[0])) : nullptr;
  if (ours != nullptr) ours->use.know_sizes(sizes);
}

int number_at(Word64 address) { return *reinterpret_cast<const int*>(address); }  // A Fortran integer looks the same.

}  // namespace

Word64 read_c_handle(Word64 address, int index) { return word_of(reinterpret_cast<const MPI_Request*>(address)[index]); }

void Statistics::ended(ObservedCall& call, const CallResult& result) {
  ask_world();
  call.entry.counter.add(result, now_ns() - call.began_ns);
}

void Statistics::made(ObservedCall& call, const CallResult& carried, const RequestsAt& request) {
  CallCounter& counter = call.entry.counter;
  ask_world();
  const std::int64_t spent_ns = now_ns() - call.began_ns;
  const bool nonblocking = call.entry.form == Form::nonblocking;
  const bool succeeded = carried.code == MPI_SUCCESS;
  const bool known_flavour = find_functions() != nullptr && request.address != 0;
  if (carried.done && !carried.on_copies) {
    if (succeeded && request.address != 0) tell_sizes_of(request, call.sizes);
    if (!nonblocking || !succeeded) return;
    counter.overlap(By::crossrail).started(spent_ns);
    note_inside(By::crossrail, now_ns(), spent_ns);
    return;
  }
  CallResult native;
  native.native_because = carried.native_because;
  counter.add(native, nonblocking && succeeded && known_flavour ? 0 : spent_ns);
  if (!succeeded || !known_flavour) return;
  Overlap& overlap = counter.overlap(By::native);
  const Word64 handle = request[0];
  end_native(handle, call.began_ns, true);  // MPI libraries give the same handle to all requests that are complete at once.
  if (nonblocking) overlap.begins(call.began_ns);
  if (nonblocking) overlap.started(spent_ns);
  if (nonblocking) note_inside(By::native, now_ns(), spent_ns);
  const trace::Number traced = nonblocking ? trace_native(counter, call.sizes, call.began_ns) : 0;
  const std::lock_guard lock(calls_mutex);
  native_calls()[handle] = {&counter, nonblocking, call.sizes, traced};
  calls_known.store(native_calls().size(), std::memory_order_relaxed);
}

void forget_native_request(const RequestsAt& request) {
  record_freed(request);
  if (request.address != 0 && calls_known.load(std::memory_order_relaxed) != 0) end_native(request[0], now_ns(), true);
}

Word64 StartTime::returns(Word64 code) {
  if (began_ns_ == 0 || requests_.address == 0 || find_functions() == nullptr) return code;
  if (static_cast<int>(code) == MPI_SUCCESS) record_started(requests_, began_ns_);
  std::vector<Overlap*> among;
  bool any_native = false;
  for (int one = 0; one < requests_.count; ++one) {
    const Word64 handle = requests_[one];
    if (const OurRequest* const ours = find_request(handle_from<MPI_Request>(handle)); ours != nullptr) {
      add(among, ours->use.overlap());
      continue;
    }
    const std::lock_guard lock(calls_mutex);
    const auto at = native_calls().find(handle);
    if (at == native_calls().end() || at->second.under_way || static_cast<int>(code) != MPI_SUCCESS) continue;
    at->second.under_way = true;
    at->second.overlap().begins(began_ns_);
    at->second.traced = trace_native(*at->second.counter, at->second.sizes, began_ns_);
    any_native = true;
    add(among, &at->second.overlap());
  }
  const std::int64_t spent_ns = now_ns() - began_ns_;
  for (Overlap* one : among) one->started(spent_ns);
  if (!among.empty()) note_inside(any_native ? By::native : By::crossrail, began_ns_ + spent_ns, spent_ns);
  if (!among.empty()) trace_function(requests_.count == 1 ? "MPI_Start" : "MPI_Startall", began_ns_);
  return code;
}

void CompletionTime::look() {
  recorded_.look(requests_);
  if (!any_requests() && calls_known.load(std::memory_order_relaxed) == 0) return;
  for (int one = 0; one < requests_.count; ++one) {
    const Word64 handle = requests_[one];
    TimedNativeCall native{};
    if (const OurRequest* const ours = find_request(handle_from<MPI_Request>(handle)); ours != nullptr) {
      if (!ours->has_ended.load(std::memory_order_acquire)) add(among_, ours->use.overlap());
    } else if (find_native(handle, native) && native.under_way) {
      add(among_, &native.overlap());
      native_.push_back({one, handle});
    }
  }
  if (among_.empty()) return;
  began_ns_ = now_ns();
  if (may_wait()) traced_ = trace_function(function_);
}

void CompletionTime::end() {
  const std::int64_t now = now_ns();
  for (Overlap* one : among_) one->waited(now - began_ns_);
  trace::end(traced_);
  if (!may_wait() && completes_any()) trace_function(function_, began_ns_);
  note_inside(native_.empty() ? By::crossrail : By::native, now, now - began_ns_);
  for (const auto& [index, handle] : native_) {
    TimedNativeCall call{};
    if (!find_native(handle, call)) continue;
    const bool gone = requests_[index] != handle;
    if (gone || completes(index)) end_native(handle, now, gone);
  }
}

// Every call of MPI_Wait and its like is worth an event. The test functions may be called all the time, so only calls that complete something are.
bool CompletionTime::may_wait() const { return std::strncmp(function_, "MPI_Wait", 8) == 0; }

bool CompletionTime::completes_any() const {
  if (completed_.flag != 0) return number_at(completed_.flag) != 0;
  return completed_.count == 0 || number_at(completed_.count) > 0;
}

bool CompletionTime::completes(int index) const {
  const auto& [flag, count, indices] = completed_;
  if (flag != 0 && number_at(flag) == 0) return false;
  if (indices == 0) return true;
  const auto* const first = reinterpret_cast<const int*>(indices);
  const int number = count == 0 ? 1 : std::clamp(number_at(count), 0, requests_.count);
  return std::find(first, first + number, index) != first + number;
}

}  // namespace crossrail::mpi
