// Overlap measures what a process spent on starting and on completing the nonblocking or persistent calls of one function, and how long
// such calls were under way. Calls that are under way at the same time count once. All three are times of the process, so the last one
// without the first two is what went into the program's own work.
#pragma once

#include <cstdint>
#include <mutex>

namespace crossrail::mpi {

class Overlap {
 public:
  struct Times {
    std::uint64_t calls = 0;  // This many calls have ended.
    std::int64_t starting_ns = 0;
    std::int64_t waiting_ns = 0;
    std::int64_t under_way_ns = 0;
  };

  // A call begins, at the time when the program asked for it.
  void begins(std::int64_t now_ns);
  // The function that started it has returned.
  void started(std::int64_t nanoseconds);
  // A call has ended.
  void ends(std::int64_t now_ns);
  // The program spent this much on completing requests, among which was such a call.
  void waited(std::int64_t nanoseconds);
  Times times() const;

 private:
  mutable std::mutex mutex_;
  Times times_;
  std::int64_t first_began_ns_ = 0;  // The first call that is still under way began then.
  int under_way_ = 0;
};

}  // namespace crossrail::mpi
