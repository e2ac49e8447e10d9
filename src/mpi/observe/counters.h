// What this process's MPI calls came to, for CROSSRAIL_REPORT, CROSSRAIL_TRACE and tools that ask (MPI_T). Nothing is counted without them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "mpi/words/call_result.h"
#include "mpi/observe/overlap.h"
#include "mpi/observe/time_line.h"

namespace crossrail::mpi {

// Who carries a nonblocking or persistent call.
enum class By { crossrail, native };

// Calls by a text that is a constant of the library: the first few that are seen.
class CountedTexts {
 public:
  static constexpr int kMost = 32;
  struct Count {
    std::atomic<const char*> text{nullptr};
    std::atomic<std::uint64_t> calls{0};
  };
  void add(const char* text);
  const Count* begin() const { return counts_; }
  const Count* end() const { return counts_ + kMost; }

 private:
  Count counts_[kMost];
};

// One interposed name. Static objects, one for each entry point.
class CallCounter {
 public:
  CallCounter(const char* name, const char* interface);
  // A call, and the time that the program spent in it. Of nonblocking and persistent calls the times are in `overlap`.
  void add(const CallResult& carried, std::int64_t nanoseconds);
  const char* name() const { return name_; }
  struct Totals {
    std::uint64_t carried = 0, native = 0, errors = 0, sent_bytes = 0;
    std::int64_t inside_ns = 0;
  };
  // Of all entry points of these functions of MPI, whatever the language and the size of counts.
  static Totals totals_of(std::span<const char* const> functions);
  Overlap& overlap(By by) { return by == By::crossrail ? overlap_ : native_overlap_; }

 private:
  friend struct Report;
  static CallCounter* first();
  bool is_of(std::span<const char* const> functions) const;
  // What the program spent inside such calls.
  std::int64_t inside_ns() const;
  static constexpr int kSizes = 64;  // histogram: blocks of up to 2^i bytes
  const char* name_;
  const char* interface_;
  std::atomic<std::uint64_t> carried_{0}, native_{0}, errors_{0}, nanoseconds_{0}, bytes_{0}, sent_bytes_{0};
  std::atomic<std::uint64_t> histogram_[kSizes] = {};
  CountedTexts algorithms_, reasons_;
  Overlap overlap_, native_overlap_;
  CallCounter* next_;
};

enum class Counting { unknown, off, on };
extern std::atomic<Counting> counting_now;
bool decide_counting();
inline bool counting() {
  const Counting now = counting_now.load(std::memory_order_relaxed);
  return now == Counting::unknown ? decide_counting() : now == Counting::on;
}
// A report is written.
bool reporting();
// A tool asks: from now on calls are counted, if they have not been before.
void count_from_now();
std::int64_t now_ns();
// The program has called a function that starts calls: the time, 0 where nothing is counted. Kept for what this thread begins.
std::int64_t clock_entry();
std::int64_t entered_ns();
// The program has spent this inside collective calls, or in starting and completing them; it ends now.
void note_inside(By by, std::int64_t now_ns, std::int64_t spent_ns);
// The whole process: begins when the library is loaded, which with LD_PRELOAD is when the program starts.
TimeLine& time_line();
// Calls counted so far; 0 in a process that was forked and has made none.
std::uint64_t calls_counted();
// This process in MPI_COMM_WORLD; -1 if unknown.
struct World {
  int rank = -1, size = -1;
};
World known_world();
void note_world(int rank, int size);
// Communicators opened on which calls may be carried. Counted always.
void note_opened();
std::uint64_t communicators_opened();
// Asks MPI for it, once, where nothing else has told. For threads that may call MPI.
void ask_world();

}  // namespace crossrail::mpi
