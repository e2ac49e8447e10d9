// These are the declared parameters, by name: plan.parameter(parameters::packet). A name means the same in all algorithms.
#pragma once

#include "comm/parameter.h"

namespace crossrail::parameters {

#define UNPACKED(...) __VA_ARGS__
#define PARAMETER(name, preset, unit, values, help) \
  inline constexpr Parameter name{#name, preset, Unit::unit, kValues<UNPACKED values>, help};
#define ALGORITHM(...)
#include "collectives/parameters.def"
#include "collectives/catalogues.def"
#undef ALGORITHM
#undef PARAMETER
#undef UNPACKED

}  // namespace crossrail::parameters
