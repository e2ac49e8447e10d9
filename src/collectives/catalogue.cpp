#include "collectives/algorithm.h"

namespace crossrail {

#define ALGORITHM(name, summary)                      \
  namespace CROSSRAIL_COLLECTIVE::name {              \
  bool fits(const Topology&, const Shape&);           \
  Status plan(Plan&);                                 \
  Status run(Plan&, const Buffers&);                  \
  }
#define CROSSRAIL_COLLECTIVE alltoall
#include "collectives/alltoall/catalog.def"
#undef CROSSRAIL_COLLECTIVE
#define CROSSRAIL_COLLECTIVE alltoallv
#include "collectives/alltoallv/catalog.def"
#undef CROSSRAIL_COLLECTIVE
#undef ALGORITHM

std::span<const Algorithm> catalogue(Collective collective) {
#define ALGORITHM(name, summary) \
  {#name, summary, CROSSRAIL_COLLECTIVE::name::fits, CROSSRAIL_COLLECTIVE::name::plan, CROSSRAIL_COLLECTIVE::name::run},
  static constexpr Algorithm alltoall_rows[] = {
#define CROSSRAIL_COLLECTIVE alltoall
#include "collectives/alltoall/catalog.def"
#undef CROSSRAIL_COLLECTIVE
  };
  static constexpr Algorithm alltoallv_rows[] = {
#define CROSSRAIL_COLLECTIVE alltoallv
#include "collectives/alltoallv/catalog.def"
#undef CROSSRAIL_COLLECTIVE
  };
#undef ALGORITHM
  switch (collective) {
    case Collective::alltoall: return alltoall_rows;
    case Collective::alltoallv: return alltoallv_rows;
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
