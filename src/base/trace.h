// The trace of a process (CROSSRAIL_TRACE): what it does and when, as events of one size in a ring in a file that the process maps.
// What has been written is in the file whatever way the process ends. python/crossrail/report/trace.py reads it. Where nothing
// is traced, an event costs the test of a flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace crossrail::trace {

// An event, numbered from 1 on; 0: none, nothing is traced.
using Number = std::uint64_t;

// In the file by these values.
enum class Kind : std::uint16_t {
  call = 1,     // a function of MPI, on the thread that has called it
  pending = 2,  // a nonblocking or persistent call, from its start to its end, on no thread
  phase = 3,    // a part of a call
  wait = 4,     // a part of a call in which it waits for other ranks
  message = 5,  // posted and seen complete
  device = 6,   // asked of a device and seen done
  on_device = 7,  // when the device did that
};

struct What {
  const char* name;  // a constant of the library, as are all texts here
  Kind kind;
  std::uint64_t bytes = 0;
  int peer = -1;               // a rank of the communicator
  Number of = 0;               // the pending call of which it is a part; 0: of what its thread is in; on_device: what was asked for
  std::int64_t began_ns = 0;   // 0: now
};

struct Known {
  const char* algorithm = nullptr;  // null and 0: not known
  const char* native_because = nullptr;
  std::uint64_t bytes = 0;
  int ranks = 0;  // of the communicator
};

extern std::atomic<bool> is_on;
inline bool on() { return is_on.load(std::memory_order_relaxed); }

// Begins the trace of this process, in a file of its own in the folder; a forked one has to do so again. Tried once: what goes
// wrong is logged.
void open(const std::string& folder, std::uint64_t most_events);
// This process in MPI_COMM_WORLD.
void set_world(int rank, int size);

Number begin(const What& what);
void tell(Number event, const Known& known);
// The first end counts.
void end(Number event);
// When the device did what the event has been asked for: an event of its own, with its name and bytes.
void add_on_device(Number event, std::int64_t began_ns, std::int64_t ended_ns);
std::int64_t now_ns();  // CLOCK_MONOTONIC, which all processes of a host share

// An event that ends with its scope.
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
