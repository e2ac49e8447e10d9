// What a process spent on the nonblocking or persistent calls of one function, in starting them, in waiting for them, and
// how long such calls were under way. Calls that are under way at the same time count once: all three are times
// of the process, so that what is left of the last without the first two went into the program's own work.
#pragma once

#include <cstdint>
#include <mutex>

namespace crossrail::mpi {

class Overlap {
 public:
  struct Times {
    std::uint64_t calls = 0;  // that have ended
    std::int64_t starting_ns = 0;
    std::int64_t waiting_ns = 0;
    std::int64_t under_way_ns = 0;
  };

  // A call begins, when the program asked for it.
  void begins(std::int64_t now_ns);
  // The function that started it has returned.
  void started(std::int64_t nanoseconds);
  // A call has ended.
  void ends(std::int64_t now_ns);
  // The program spent this on completing requests with such a call among them.
  void waited(std::int64_t nanoseconds);
  Times times() const;

 private:
  mutable std::mutex mutex_;
  Times times_;
  std::int64_t first_began_ns_ = 0;  // of those under way
  int under_way_ = 0;
};

}  // namespace crossrail::mpi
