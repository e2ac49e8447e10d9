// This is what a Choice says for one size, as values that outlive it.
#pragma once

#include <string>
#include <vector>

#include "selection/choice.h"
#include "selection/selection.h"

namespace crossrail::tests {

struct Chosen {
  const Algorithm* algorithm;
  Parameters parameters;
  std::string origin;
  bool fallback;
  std::string passed_over;
};

inline std::vector<Chosen> chosen_of(const Choice& choice, std::uint64_t bytes) {
  std::vector<Chosen> all;
  for (const Candidate* one : choice.at(bytes).candidates) {
    all.push_back({one->algorithm, one->parameters.by_name(), one->origin, one->fallback, choice.passed_over(*one, bytes)});
  }
  return all;
}

inline std::vector<Chosen> choose(const std::vector<TuningRow>& rows, const std::string& wanted, const Ground& ground, const Shape& shape) {
  return chosen_of(Choice(rows, wanted, ground, shape), shape.block_bytes);
}

}  // namespace crossrail::tests
