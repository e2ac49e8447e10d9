// An algorithm with parameters in words, as settings and tables write it: "node_shared packet=512 chunk=4K".
#pragma once

#include <string>

#include "base/settings.h"
#include "base/status.h"
#include "collectives/algorithm.h"

namespace crossrail {

// "packet=512 chunk=4K". Errors: invalid, with the word that is none.
Status read_parameters(const std::string& text, Parameters& parameters);
// Errors: invalid, with the parameter that the algorithm's row does not declare; null stands for native, which has none.
Status check_parameters(const Algorithm* algorithm, const Parameters& parameters);
// What the settings want for a collective, with parameters if need be; empty: nothing.
const std::string& wanted_algorithm(const Settings& settings, Collective collective);
struct Wanted {
  std::string algorithm;
  Parameters parameters;
};
// Errors: invalid, where the collective has no such algorithm on any memory, or that has no such parameters.
Status read_wanted(Collective collective, const std::string& text, Wanted& wanted);
// Empties the settings of algorithms that make no sense, and says which: a sentence; empty where all make sense.
std::string ignore_senseless_algorithms(Settings& settings);
// False for a setting of an algorithm that makes no sense.
bool makes_sense(const std::string& variable, const std::string& value);

}  // namespace crossrail
