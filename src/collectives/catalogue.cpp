#include "collectives/algorithm.h"

namespace crossrail {

#define ALGORITHM(name, summary)                \
  namespace alltoall::name {                    \
  bool fits(const Topology&, const Shape&);     \
  Status plan(Plan&);                           \
  Status run(Plan&, const Buffers&);            \
  }
#include "collectives/alltoall/catalog.def"
#undef ALGORITHM

std::span<const Algorithm> catalogue(Collective collective) {
  static constexpr Algorithm alltoall_rows[] = {
#define ALGORITHM(name, summary) \
  {#name, summary, alltoall::name::fits, alltoall::name::plan, alltoall::name::run},
#include "collectives/alltoall/catalog.def"
#undef ALGORITHM
  };
  switch (collective) {
    case Collective::alltoall: return alltoall_rows;
  }
  return {};
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : catalogue(collective)) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace crossrail
