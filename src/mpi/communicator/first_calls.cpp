#include "mpi/communicator/first_calls.h"

namespace crossrail::mpi {
namespace {

// 0, 1, 2, 4, 8, ... calls before this one: so ranks ask each other seldom, and not much later than they could.
bool asks_after(std::uint64_t calls) { return (calls & (calls - 1)) == 0; }

}  // namespace

bool FirstCalls::begin_blocking(bool alltoall) {
  const std::uint64_t before = blocking_++;
  return asks_after(before) && (alltoall || before >= kFew || nonblocking_ > 0);
}

bool FirstCalls::begin_nonblocking(std::int64_t now_ns) {
  const std::uint64_t before = nonblocking_++;
  if (before > 0) return asks_after(before);
  blocking_ = 0;
  first_nonblocking_ns_ = now_ns;
  return false;
}

bool FirstCalls::begin_other() { return nonblocking_ > 0 && asks_after(blocking_++); }

bool FirstCalls::worth_opening(std::int64_t now_ns, std::int64_t opening_ns) const {
  // How long nonblocking calls take nobody knows: what counts is that a few of them, and the program, have taken much longer.
  const bool many = nonblocking_ > kFew && now_ns - first_nonblocking_ns_ >= opening_ns;
  return opening_ns == 0 || long_one_ || many || blocking_ns_ >= opening_ns;
}

}  // namespace crossrail::mpi
