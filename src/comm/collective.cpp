#include "comm/collective.h"

namespace crossrail {
namespace {

#define COLLECTIVE(name, counts, reduces, setting, ...) constexpr const char* name##_calls[] = {__VA_ARGS__};
#include "collectives/collectives.def"
#undef COLLECTIVE

}  // namespace

constinit const CollectiveRow kCollectiveRows[] = {
#define COLLECTIVE(name, counts, reduces, setting, ...) \
  {Collective::name, #name, Counts::counts, reduces, setting, name##_calls},
#include "collectives/collectives.def"
#undef COLLECTIVE
};

const char* name_of(Counts counts) {
  switch (counts) {
    case Counts::block: return "block";
    case Counts::vector: return "vector";
    case Counts::table: return "table";
    case Counts::elements: return "elements";
  }
  return "?";
}

const CollectiveRow* find_collective(std::string_view name) {
  for (const CollectiveRow& row : kCollectiveRows) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::string collective_names() {
  std::string names;
  for (const CollectiveRow& row : kCollectiveRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace crossrail
