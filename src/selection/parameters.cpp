#include "selection/parameters.h"

#include <algorithm>
#include <sstream>

namespace crossrail {
namespace {

// These are the members of Settings, in the order of Collective.
constexpr std::string Settings::*kWanted[] = {
#define COLLECTIVE(name, ...) &Settings::name,
#include "collectives/collectives.def"
#undef COLLECTIVE
};


bool declares(const Algorithm* algorithm, const std::string& name) {
  return algorithm != nullptr && std::any_of(algorithm->parameters.begin(), algorithm->parameters.end(),
                                             [&](const Parameter* one) { return name == one->name; });
}

std::string names_of_parameters(const Algorithm* algorithm) {
  std::string names;
  if (algorithm != nullptr) {
    for (const Parameter* one : algorithm->parameters) names += (names.empty() ? "" : ", ") + std::string(one->name);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Status read_parameters(const std::string& text, Parameters& parameters) {
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    const auto equals = word.find('=');
    std::uint64_t value = 0;
    if (equals == std::string::npos || equals == 0 || !parse_bytes(word.substr(equals + 1), value)) {
      return failure(Code::invalid, "'%s' is no parameter, which is written name=number", word.c_str());
    }
    parameters[word.substr(0, equals)] = value;
  }
  return {};
}

Status check_parameters(const Algorithm* algorithm, const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    if (declares(algorithm, name)) continue;
    return failure(Code::invalid, "%s has no parameter '%s'; it has %s", algorithm == nullptr ? "native" : algorithm->name,
                   name.c_str(), names_of_parameters(algorithm).c_str());
  }
  return {};
}

const std::string& wanted_algorithm(const Settings& settings, Collective collective) {
  return settings.*kWanted[static_cast<std::size_t>(collective)];
}

Status read_wanted(Collective collective, const std::string& text, Wanted& wanted) {
  std::istringstream words(text);
  words >> wanted.algorithm;
  std::string rest;
  std::getline(words, rest);
  CROSSRAIL_TRY(read_parameters(rest, wanted.parameters));
  if (wanted.algorithm == "native") return check_parameters(nullptr, wanted.parameters);
  Status status = failure(Code::invalid, "%s has no algorithm '%s'", name_of(collective), wanted.algorithm.c_str());
  for (const Memory memory : kMemories) {
    const Algorithm* found = find_algorithm(collective, wanted.algorithm, memory);
    if (found == nullptr) continue;
    status = check_parameters(found, wanted.parameters);
    if (status.ok()) return status;
  }
  return status;
}

std::string ignore_senseless_algorithms(Settings& settings) {
  std::string sentence;
  for (const Collective collective : kCollectives) {
    std::string& text = settings.*kWanted[static_cast<std::size_t>(collective)];
    Wanted wanted;
    if (text.empty()) continue;
    const Status status = read_wanted(collective, text, wanted);
    if (status.ok()) continue;
    sentence += (sentence.empty() ? "" : "; ") + std::string(row_of(collective).setting) + "=" + text + " is ignored: " + status.what;
    text.clear();
  }
  return sentence.empty() ? sentence : sentence + " (see 'crossrail list')";
}

bool makes_sense(const std::string& variable, const std::string& value) {
  for (const Collective collective : kCollectives) {
    Wanted wanted;
    if (variable == row_of(collective).setting && !value.empty() && !read_wanted(collective, value, wanted).ok()) return false;
  }
  return true;
}

}  // namespace crossrail
