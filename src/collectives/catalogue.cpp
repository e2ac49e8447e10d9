#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/parameters.h"

// CMake writes collectives/catalogues.def: every catalog.def, preceded by the words for which it stands.

namespace crossrail {

#define PARAMETER(...)
#define ALGORITHM(name, ...)                          \
  namespace CROSSRAIL_CATALOGUE::name {               \
  Fit fit(const Topology&, const Shape&);             \
  Status plan(Plan&);                                 \
  Status run(Plan&, const Buffers&);                  \
  }
#include "collectives/catalogues.def"
#undef ALGORITHM

namespace {

using namespace parameters;

#define ALGORITHM(name, summary, ...)                                                                                    \
  {#name, summary, Collective::CROSSRAIL_COLLECTIVE, Memory::CROSSRAIL_MEMORY, kParameters<__VA_ARGS__>,                 \
   CROSSRAIL_CATALOGUE::name::fit, CROSSRAIL_CATALOGUE::name::plan, CROSSRAIL_CATALOGUE::name::run},
constexpr Algorithm kRows[] = {
#include "collectives/catalogues.def"
};
#undef ALGORITHM
#undef PARAMETER

static_assert(std::all_of(std::begin(kRows), std::end(kRows), [](const Algorithm& row) { return row.parameters.size() <= ParameterValues::kMost; }));

}  // namespace

std::span<const Algorithm> catalogue(Collective collective, Memory memory) {
  const auto belongs = [&](const Algorithm& row) { return row.collective == collective && row.memory == memory; };
  const Algorithm* const first = std::find_if(std::begin(kRows), std::end(kRows), belongs);
  return {first, std::find_if_not(first, std::end(kRows), belongs)};
}

const Algorithm* find_algorithm(Collective collective, std::string_view name, Memory memory) {
  for (const Algorithm& row : catalogue(collective, memory)) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace crossrail
