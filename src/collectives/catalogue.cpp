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
#define CROSSRAIL_COLLECTIVE alltoall_device
#include "collectives/alltoall_device/catalog.def"
#undef CROSSRAIL_COLLECTIVE
#define CROSSRAIL_COLLECTIVE alltoallv
#include "collectives/alltoallv/catalog.def"
#undef CROSSRAIL_COLLECTIVE
#undef ALGORITHM

namespace {

#define ALGORITHM(name, summary)                                                                        \
  {#name, summary, CROSSRAIL_MEMORY, CROSSRAIL_COLLECTIVE::name::fits, CROSSRAIL_COLLECTIVE::name::plan, \
   CROSSRAIL_COLLECTIVE::name::run},
#define CROSSRAIL_MEMORY Memory::host
constexpr Algorithm alltoall_rows[] = {
#define CROSSRAIL_COLLECTIVE alltoall
#include "collectives/alltoall/catalog.def"
#undef CROSSRAIL_COLLECTIVE
};
constexpr Algorithm alltoallv_rows[] = {
#define CROSSRAIL_COLLECTIVE alltoallv
#include "collectives/alltoallv/catalog.def"
#undef CROSSRAIL_COLLECTIVE
};
#undef CROSSRAIL_MEMORY
#define CROSSRAIL_MEMORY Memory::device
constexpr Algorithm alltoall_device_rows[] = {
#define CROSSRAIL_COLLECTIVE alltoall_device
#include "collectives/alltoall_device/catalog.def"
#undef CROSSRAIL_COLLECTIVE
};
#undef CROSSRAIL_MEMORY
#undef ALGORITHM

}  // namespace

std::span<const Algorithm> catalogue(Collective collective, Memory memory) {
  if (memory == Memory::device) return collective == Collective::alltoall ? alltoall_device_rows : std::span<const Algorithm>{};
  return collective == Collective::alltoall ? std::span<const Algorithm>(alltoall_rows) : alltoallv_rows;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name, Memory memory) {
  for (const Algorithm& row : catalogue(collective, memory)) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace crossrail
