// A Parameter is a number beside an algorithm's name that the algorithm's row declares (collectives/parameters.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "topology/topology.h"

namespace crossrail {

// The unit says what a parameter's value counts.
enum class Unit : std::uint8_t {
  bytes,
  row_bytes,  // All blocks of a rank together have so many bytes, which is what counts when they may be shorter.
  ranks,      // They are ranks of the communicator. More than there are have the same effect as all.
  nodes,
  node_ranks,  // They are ranks of the smallest node.
  processes   // They are a rank's processes: itself and its helper processes.
};

struct Parameter {
  const char* name;
  std::uint64_t preset;
  Unit unit;
  std::span<const std::uint64_t> values;  // Tuning tries these values.
  const char* help;
};

// Parameters are numbers beside an algorithm's name: "packet=512 chunk=4096".
using Parameters = std::map<std::string, std::uint64_t>;

// ParameterValues holds the values of all parameters that an algorithm's row declares.
class ParameterValues {
 public:
  static constexpr std::size_t kMost = 8;  // No row has more parameters.

  ParameterValues() = default;
  // Uses the default for a parameter that is not in `given`. Other parameters in `given` are ignored.
  explicit ParameterValues(std::span<const Parameter* const> declared, const Parameters& given = {});
  // Returns null if the row does not declare it.
  const std::uint64_t* find(const Parameter& one) const {
    for (std::size_t number = 0; number < declared_.size(); ++number) {
      if (declared_[number] == &one) return &values_[number];
    }
    return nullptr;
  }
  Parameters by_name() const;
  bool operator==(const ParameterValues& other) const { return declared_.data() == other.declared_.data() && values_ == other.values_; }

 private:
  std::span<const Parameter* const> declared_;
  std::array<std::uint64_t, kMost> values_{};
};

const char* name_of(Unit unit);

// Returns what the value means on such a communicator: at least 1, and at most what there is, for units that are limited.
std::uint64_t limited(std::uint64_t value, Unit unit, const Topology& topology);

template <std::uint64_t... values>
inline constexpr std::array<std::uint64_t, sizeof...(values)> kValues{values...};
template <const Parameter&... declared>
inline constexpr std::array<const Parameter*, sizeof...(declared)> kParameters{&declared...};

}  // namespace crossrail
