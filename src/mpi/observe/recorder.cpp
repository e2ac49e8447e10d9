#include "mpi/observe/recorder.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/settings.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/folded_sequence.h"
#include "mpi/observe/recorded_events.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

struct Recording {
  std::mutex mutex;
  RecordedEvents events;
  FoldedSequence sequence;
  std::vector<Word64> active;      // It holds the requests of calls under way, in the order in which they were started.
  std::vector<Word64> persistent;  // It holds the persistent requests, in the order in which they were made.
  std::int64_t last_ended_ns = 0;
  std::thread::id thread;
  bool several_threads = false, full = false;
  std::uint64_t calls = 0, left_out = 0;
  std::int64_t inside_ns = 0, left_out_ns = 0;
};

Recording& recording_of_process() {
  static auto& one = *new Recording;  // It is never destroyed, because reports are written late.
  return one;
}

// Forgets a communicator that has been freed, because MPI may give its handle to another one.
int forget_recorded(MPI_Comm comm, int, void*, void*) {
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  all.events.forget_communicator(word_of(comm));
  return MPI_SUCCESS;
}

// Arranges that `forget_recorded` is called when the communicator is freed. The lock must not be held: if an attribute replaces another, MPI calls
// `forget_recorded` here.
void watch(MPI_Comm comm) {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    const auto do_not_copy = [](MPI_Comm, int, void*, void*, void*, int* flag) {
      *flag = 0;
      return static_cast<int>(MPI_SUCCESS);
    };
    (void)pmpi().Comm_create_keyval(do_not_copy, forget_recorded, &made, nullptr);
    return made;
  }();
  void* value = nullptr;
  int found = 0;
  if (keyval == MPI_KEYVAL_INVALID || pmpi().Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS || found != 0) return;
  (void)pmpi().Comm_set_attr(comm, keyval, &recording_of_process());
}

// The caller holds the lock. If there is no room for the event, only its time is kept.
void add(Recording& all, int event, const EventTime& spans, bool is_call) {
  if (all.thread == std::thread::id{}) all.thread = std::this_thread::get_id();
  if (all.thread != std::this_thread::get_id()) all.several_threads = true;
  if (all.full || event < 0 || !all.sequence.add(event, spans)) {
    all.full = true;
    all.left_out += is_call;
    all.left_out_ns += spans.inside_ns;
    return;
  }
  all.calls += is_call;
  all.inside_ns += spans.inside_ns;
}

EventTime time_since(Recording& all, std::int64_t began_ns) {
  const std::int64_t now = now_ns();
  const std::int64_t gap = all.last_ended_ns == 0 ? 0 : std::max<std::int64_t>(began_ns - all.last_ended_ns, 0);
  all.last_ended_ns = now;
  return {gap, now - began_ns};
}

// Returns whether `crossrail replay` can play this function.
bool is_recorded(Function function) { return function <= Function::allreduce; }

// Returns false if the call is left out.
bool record(const ObservedCall& call, const CallResult& result) {
  if (!recording() || call.words == nullptr || result.code != MPI_SUCCESS || find_functions() == nullptr || !is_recorded(call.entry.function.function)) return false;
  watch(handle_from<MPI_Comm>(call.entry.comm(call.words)));
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  const EventTime spans = time_since(all, call.began_ns);
  add(all, all.full ? -1 : all.events.call(call), spans, true);
  all.last_ended_ns = now_ns();
  return true;
}

}  // namespace

bool recording() {
  static const bool on = process_settings().record != 0 && reporting();
  return on;
}

void Recorder::ended(ObservedCall& call, const CallResult& result) { (void)record(call, result); }

void Recorder::made(ObservedCall& call, const CallResult& result, const RequestsAt& request) {
  if (request.address == 0 || !record(call, result)) return;
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  (call.entry.form == Form::persistent ? all.persistent : all.active).push_back(request[0]);
}

void record_started(const RequestsAt& requests, std::int64_t began_ns) {
  if (!recording()) return;
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  std::vector<std::int64_t> places;
  for (int one = 0; one < requests.count; ++one) {
    const auto at = std::find(all.persistent.begin(), all.persistent.end(), requests[one]);
    if (at == all.persistent.end()) continue;
    places.push_back(at - all.persistent.begin());
    all.active.push_back(requests[one]);
  }
  if (!places.empty()) add(all, all.events.of_requests("start", places), time_since(all, began_ns), true);
}

void record_freed(const RequestsAt& request) {
  if (!recording() || request.address == 0) return;
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  const auto at = std::find(all.persistent.begin(), all.persistent.end(), request[0]);
  if (at == all.persistent.end()) return;
  add(all, all.events.of_requests("free", {at - all.persistent.begin()}), time_since(all, now_ns()), false);
  all.persistent.erase(at);
}

void RecordedCompletion::look(const RequestsAt& requests) {
  if (!recording()) return;
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  if (all.active.empty()) return;
  for (int one = 0; one < requests.count; ++one) {
    const Word64 handle = requests[one];
    if (std::find(all.active.begin(), all.active.end(), handle) != all.active.end()) among_.push_back({one, handle});
  }
  if (!among_.empty()) began_ns_ = now_ns();
}

void RecordedCompletion::record_completed(const std::vector<Word64>& handles) {
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  std::vector<std::int64_t> places;
  for (const Word64 handle : handles) {
    // Several requests that are complete at once may have the same handle.
    for (std::size_t at = 0; at < all.active.size(); ++at) {
      const auto place = static_cast<std::int64_t>(at);
      if (all.active[at] != handle || std::find(places.begin(), places.end(), place) != places.end()) continue;
      places.push_back(place);
      break;
    }
  }
  std::sort(places.begin(), places.end());
  for (auto place = places.rbegin(); place != places.rend(); ++place) all.active.erase(all.active.begin() + *place);
  if (!places.empty()) add(all, all.events.of_requests("complete", places), time_since(all, began_ns_), false);
}

std::string recorded_json() {
  if (!recording()) return {};
  Recording& all = recording_of_process();
  const std::lock_guard lock(all.mutex);
  char text[256];
  std::snprintf(text, sizeof text, ",\"recorded\":{\"calls\":%llu,\"seconds\":%.9f,\"calls_left_out\":%llu,\"seconds_left_out\":%.9f,\"several_threads\":%s,",
                static_cast<unsigned long long>(all.calls), static_cast<double>(all.inside_ns) * 1e-9,
                static_cast<unsigned long long>(all.left_out), static_cast<double>(all.left_out_ns) * 1e-9, all.several_threads ? "true" : "false");
  return text + all.events.json() + ",\"sequence\":" + all.sequence.json() + "}";
}

}  // namespace crossrail::mpi
