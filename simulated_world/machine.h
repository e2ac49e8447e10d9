// Machine has the numbers of a machine on which a world is simulated. They come from a machine file (machines/*.toml), whose keys they have.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace crossrail::simulated_world {

// Time is in picoseconds, so that sums do not depend on their order.
using Time = std::int64_t;

enum class Transport : int { reliable = 0, datagram = 1, dynamic = 2 };

struct Machine {
#define VALUE(member, key) double member = -1;
#include "simulated_world/machine.def"
#undef VALUE

  // Takes one value by its key. Returns false if there is no such key.
  bool take(const std::string& key, double value);
  // Returns a sentence about a value that is missing or makes no sense, or an empty text.
  std::string wrong() const;

  static Time time(double nanoseconds) { return std::llround(nanoseconds * 1000); }
  // Returns how long `bytes` take at so many bytes a nanosecond. A bandwidth of 0 costs nothing.
  static Time of_bytes(std::size_t bytes, double bandwidth) { return bandwidth > 0 ? std::llround(static_cast<double>(bytes) * 1000 / bandwidth) : 0; }
  Transport kind() const { return static_cast<Transport>(static_cast<int>(transport)); }
};

}  // namespace crossrail::simulated_world
