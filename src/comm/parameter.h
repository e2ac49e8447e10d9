// Parameter: a number beside an algorithm's name, as its row declares it (collectives/parameters.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "topology/topology.h"

namespace crossrail {

// What a parameter's value counts.
enum class Unit : std::uint8_t {
  bytes,
  row_bytes,  // all blocks of a rank are as long, or shorter: only this matters
  ranks,      // of the communicator: more than there are do as much as all
  nodes,
  node_ranks,  // ranks of the smallest node
  processes   // of a rank: itself and its helpers
};

struct Parameter {
  const char* name;
  std::uint64_t preset;
  Unit unit;
  std::span<const std::uint64_t> values;  // worth trying
  const char* help;
};

// Numbers beside an algorithm's name: "packet=512 chunk=4096".
using Parameters = std::map<std::string, std::uint64_t>;

// The values of all parameters that an algorithm's row declares.
class ParameterValues {
 public:
  static constexpr std::size_t kMost = 8;  // parameters of a row

  ParameterValues() = default;
  // The defaults where `given` says nothing; what it says of other parameters is left out.
  explicit ParameterValues(std::span<const Parameter* const> declared, const Parameters& given = {});
  // Null if the row does not declare it.
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

// What a value does on such a communicator: at least 1 and at most what there is, for units that are limited.
std::uint64_t limited(std::uint64_t value, Unit unit, const Topology& topology);

template <std::uint64_t... values>
inline constexpr std::array<std::uint64_t, sizeof...(values)> kValues{values...};
template <const Parameter&... declared>
inline constexpr std::array<const Parameter*, sizeof...(declared)> kParameters{&declared...};

}  // namespace crossrail
