#include "mpi/communicator/first_calls.h"

#include <bit>

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kOpeningsWorthNonblocking = 5;

bool is_power_of_four(std::uint64_t number) { return std::has_single_bit(number) && std::countr_zero(number) % 2 == 0; }
// The ranks ask each other after 0, 2, 8, 32, ... calls, since asking costs about as much as a short call.
bool asks_after(std::uint64_t calls) { return calls == 0 || (calls % 2 == 0 && is_power_of_four(calls / 2)); }

}  // namespace

bool FirstCalls::begin_blocking(bool alltoall) {
  const std::uint64_t before = blocking_++;
  return asks_after(before) && (alltoall || before >= kFew || nonblocking_ > 0);
}

bool FirstCalls::begin_nonblocking(std::int64_t now_ns) {
  const std::uint64_t before = nonblocking_++;
  if (before > 0) return is_power_of_four(before);
  blocking_ = 0;
  first_nonblocking_ns_ = now_ns;
  return false;
}

bool FirstCalls::begin_other() { return nonblocking_ > 0 && asks_after(blocking_++); }

bool FirstCalls::worth_opening(std::int64_t now_ns, std::int64_t opening_ns) const {
  // The duration of nonblocking calls is unknown. Therefore the rule counts the time since
  // the first one, including the program's own work: it must be much longer than opening.
  const bool many = nonblocking_ > kFew && now_ns - first_nonblocking_ns_ >= kOpeningsWorthNonblocking * opening_ns;
  return opening_ns == 0 || long_one_ || many || blocking_ns_ >= opening_ns;
}

}  // namespace crossrail::mpi
