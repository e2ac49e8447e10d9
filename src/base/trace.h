// The trace of a process (CROSSRAIL_TRACE) says what the process does and when, as events of equal size in a ring in a file that the
// process maps. What has been written is in the file however the process ends. python/crossrail/report/trace.py reads it. If nothing is
// traced, an event costs the test of a flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace crossrail::trace {

// This is the number of an event, from 1 on. It is 0 if nothing is traced.
using Number = std::uint64_t;

// The file has these values.
enum class Kind : std::uint16_t {
  call = 1,     // It is a function of MPI, on the thread that has called it.
  pending = 2,  // It is a nonblocking or persistent call, from its start to its end, on no thread.
  phase = 3,    // It is a part of a call.
  wait = 4,     // It is a part of a call in which it waits for other ranks.
  message = 5,  // It lasts from when it is posted to when it is seen complete.
  device = 6,   // It lasts from when a device is asked for it to when it is seen done.
  on_device = 7,  // It lasts while the device really did it.
};

struct What {
  const char* name;  // This and all other texts here are constants of the library.
  Kind kind;
  std::uint64_t bytes = 0;
  int peer = -1;               // It is a rank of the communicator.
  Number of = 0;               // It is the pending call of this part, 0 for a part of what its thread is in, or for on_device what was asked for.
  std::int64_t began_ns = 0;   // It means now if it is 0.
};

struct Known {
  const char* algorithm = nullptr;  // Null and 0 mean that it is not known.
  const char* native_because = nullptr;
  std::uint64_t bytes = 0;
  int ranks = 0;  // This is the size of the communicator.
};

extern std::atomic<bool> is_on;
inline bool on() { return is_on.load(std::memory_order_relaxed); }

// Begins the trace of this process, in a file of its own in the folder; a forked process has to begin its own. This is tried once, and what
// goes wrong is logged.
void open(const std::string& folder, std::uint64_t most_events);
// Says which process this is in MPI_COMM_WORLD.
void set_world(int rank, int size);

Number begin(const What& what);
void tell(Number event, const Known& known);
// Only the first end of an event counts.
void end(Number event);
// Adds when the device did what the event was asked for, as an event of its own with the same name and bytes.
void add_on_device(Number event, std::int64_t began_ns, std::int64_t ended_ns);
std::int64_t now_ns();  // This is CLOCK_MONOTONIC, which all processes of a host share.

// Slice is an event that ends with its scope.
class Slice {
 public:
  explicit Slice(Number event) : event_(event) {}
  ~Slice() {
    if (event_ != 0) [[unlikely]] end(event_);
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

 private:
  Number event_;
};

}  // namespace crossrail::trace
