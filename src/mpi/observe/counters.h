// These counters count this process's MPI calls for CROSSRAIL_REPORT, CROSSRAIL_TRACE and tools that ask through MPI_T. Nothing is counted
// without one of these.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "mpi/words/call_result.h"
#include "mpi/observe/overlap.h"
#include "mpi/observe/time_line.h"

namespace crossrail::mpi {

// This says who handles a nonblocking or persistent call.
enum class By { crossrail, native };

// It counts calls by a text that is a constant of the library. Only the first kMost texts that it meets are counted.
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

// CallCounter counts the calls of one exported name. It is a static object, and all of them form a list.
class CallCounter {
 public:
  CallCounter(const char* name, const char* interface);
  // Adds a call and the time that the program spent in it. The times of nonblocking and persistent calls are kept in `overlap` instead.
  void add(const CallResult& carried, std::int64_t nanoseconds);
  const char* name() const { return name_; }
  struct Totals {
    std::uint64_t carried = 0, native = 0, errors = 0, sent_bytes = 0;
    std::int64_t inside_ns = 0;
  };
  // Returns the totals of all entry points of these MPI functions, whatever their language and the size of their counts.
  static Totals totals_of(std::span<const char* const> functions);
  Overlap& overlap(By by) { return by == By::crossrail ? overlap_ : native_overlap_; }

 private:
  friend struct Report;
  static CallCounter* first();
  bool is_of(std::span<const char* const> functions) const;
  // Returns how long the program was inside such calls.
  std::int64_t inside_ns() const;
  static constexpr int kSizes = 64;  // Bucket i counts blocks of up to 2^i bytes.
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
// Returns whether this process writes a report.
bool reporting();
// A tool asks for counters. Calls are counted from now on if they were not before.
void count_from_now();
std::int64_t now_ns();
// The program has called a function that starts calls. This returns the time, or 0 if nothing is counted; entered_ns() gives it to the
// calls that this thread starts next.
std::int64_t clock_entry();
std::int64_t entered_ns();
// Notes that the program has spent this much time inside collective calls, or in starting and completing them, until now.
void note_inside(By by, std::int64_t now_ns, std::int64_t spent_ns);
// This is the time line of the whole process. It begins when the library is loaded, which with LD_PRELOAD is when the program starts.
TimeLine& time_line();
// Returns how many calls have been counted. A forked process starts again at 0.
std::uint64_t calls_counted();
// This is the process's place in MPI_COMM_WORLD. Values that are not known are -1.
struct World {
  int rank = -1, size = -1;
};
World known_world();
void note_world(int rank, int size);
// Counts the communicators that have been opened so that their calls may be accelerated. This is always counted, because it is rare.
void note_opened();
std::uint64_t communicators_opened();
// Asks MPI for this process's rank, once, if nothing else has told it. Only threads that may call MPI may call this.
void ask_world();

}  // namespace crossrail::mpi
