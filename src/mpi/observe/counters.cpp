#include "mpi/observe/counters.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <bit>
#include <string_view>

#include "base/settings.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/report_file.h"
#include "mpi/observe/time_line.h"
#include "mpi/observe/traced_calls.h"

namespace crossrail::mpi {
namespace {

std::atomic<CallCounter*> first_counter{nullptr};
std::atomic<int> world_rank{-1};
std::atomic<int> world_size{-1};
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> opened{0};
thread_local std::int64_t entered_at_ns = 0;

// A forked process begins its own counts, since the calls before the fork are its parent's.
struct Begins {
  Begins() {
    (void)time_line();
    (void)pthread_atfork(nullptr, nullptr, [] { calls = 0; });
  }
} begins;

}  // namespace

TimeLine& time_line() {
  static auto& line = *new TimeLine(now_ns());  // It is never destroyed: calls may come while static objects are destroyed.
  return line;
}

// Equal texts may lie at several addresses.
void CountedTexts::add(const char* text) {
  for (Count& count : counts_) {
    const char* known = nullptr;
    if (count.text.compare_exchange_strong(known, text) || known == text || std::strcmp(known, text) == 0) {
      count.calls.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

CallCounter::CallCounter(const char* name, const char* interface) : name_(name), interface_(interface) {
  next_ = first_counter.load();
  while (!first_counter.compare_exchange_weak(next_, this)) {
  }
}

void CallCounter::add(const CallResult& carried, std::int64_t nanoseconds) {
  const bool failed = carried.done && carried.code != 0;
  (failed ? errors_ : carried.done ? carried_ : native_).fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);
  bytes_.fetch_add(carried.block_bytes, std::memory_order_relaxed);
  sent_bytes_.fetch_add(carried.block_bytes * carried.blocks, std::memory_order_relaxed);
  calls.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t below = carried.block_bytes > 1 ? carried.block_bytes - 1 : 0;
  histogram_[std::bit_width(below) % kSizes].fetch_add(1, std::memory_order_relaxed);
  algorithms_.add(carried.algorithm);
  if (!carried.done && carried.native_because != nullptr) reasons_.add(carried.native_because);
  const std::int64_t now = now_ns();
  if (nanoseconds > 0) note_inside(carried.done ? By::crossrail : By::native, now, nanoseconds);
  note_counted_call();
}

bool reporting() {
  static const bool on = !process_settings().report.empty();
  return on;
}

constinit std::atomic<Counting> counting_now{Counting::unknown};

bool decide_counting() {
  Counting unknown = Counting::unknown;
  counting_now.compare_exchange_strong(unknown, reporting() || tracing() ? Counting::on : Counting::off);
  return counting_now.load() == Counting::on;
}

void count_from_now() { counting_now = Counting::on; }

void note_opened() { opened.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t communicators_opened() { return opened.load(); }

bool CallCounter::is_of(std::span<const char* const> functions) const {
  const std::string_view name = name_;
  return std::any_of(functions.begin(), functions.end(),
                     [name](std::string_view one) { return name.starts_with(one) && (name.size() == one.size() || name.substr(one.size()) == "_c"); });
}

std::int64_t CallCounter::inside_ns() const {
  const Overlap::Times own = overlap_.times(), native = native_overlap_.times();
  return static_cast<std::int64_t>(nanoseconds_.load()) + own.starting_ns + own.waiting_ns + native.starting_ns + native.waiting_ns;
}

CallCounter::Totals CallCounter::totals_of(std::span<const char* const> functions) {
  Totals totals;
  for (const CallCounter* at = first(); at != nullptr; at = at->next_) {
    if (!at->is_of(functions)) continue;
    totals.carried += at->carried_.load();
    totals.native += at->native_.load();
    totals.errors += at->errors_.load();
    totals.sent_bytes += at->sent_bytes_.load();
    totals.inside_ns += at->inside_ns();
  }
  return totals;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t clock_entry() { return entered_at_ns = counting() ? now_ns() : 0; }

std::int64_t entered_ns() { return entered_at_ns; }

void note_inside(By by, std::int64_t now_ns, std::int64_t spent_ns) { time_line().add(by == By::crossrail, now_ns, spent_ns); }

void note_world(int rank, int size) {
  world_rank = rank;
  world_size = size;
  trace::set_world(rank, size);
}

void ask_world() {
  int rank = 0, size = 0, initialized = 0, finalized = 0;
  if (!(reporting() || tracing()) || world_size.load() >= 0 || find_functions() == nullptr) return;
  if (pmpi().Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return;
  if (pmpi().Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
  if (pmpi().Comm_rank(handles().comm_world, &rank) != MPI_SUCCESS) return;
  if (pmpi().Comm_size(handles().comm_world, &size) == MPI_SUCCESS) note_world(rank, size);
}

std::uint64_t calls_counted() { return calls.load(); }

World known_world() { return {world_rank.load(), world_size.load()}; }

CallCounter* CallCounter::first() { return first_counter.load(); }

}  // namespace crossrail::mpi
