// These functions read an algorithm with parameters in words, as settings and tables write it: "node_shared packet=512 chunk=4K".
#pragma once

#include <string>

#include "base/settings.h"
#include "base/status.h"
#include "collectives/algorithm.h"

namespace crossrail {

// Reads "packet=512 chunk=4K". It may fail with invalid, and then names the word that is no parameter.
Status read_parameters(const std::string& text, Parameters& parameters);
// It may fail with invalid, and then names the parameter that the algorithm's row does not declare. Null stands for native, which has none.
Status check_parameters(const Algorithm* algorithm, const Parameters& parameters);
// Returns what the settings want for a collective, with parameters if need be, or an empty text if they want nothing.
const std::string& wanted_algorithm(const Settings& settings, Collective collective);
struct Wanted {
  std::string algorithm;
  Parameters parameters;
};
// It may fail with invalid, if the collective has no such algorithm on any memory, or if that has no such parameters.
Status read_wanted(Collective collective, const std::string& text, Wanted& wanted);
// Empties the settings of algorithms that make no sense. Returns a sentence that says which, or an empty text if all make sense.
std::string ignore_senseless_algorithms(Settings& settings);
// Returns false for a setting of an algorithm that makes no sense.
bool makes_sense(const std::string& variable, const std::string& value);

}  // namespace crossrail
