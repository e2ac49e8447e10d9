// A CollectiveRow is a row of collectives/collectives.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crossrail {

enum class Collective : std::uint8_t {
#define COLLECTIVE(name, ...) name,
#include "collectives/collectives.def"
#undef COLLECTIVE
};
inline constexpr Collective kCollectives[] = {
#define COLLECTIVE(name, ...) Collective::name,
#include "collectives/collectives.def"
#undef COLLECTIVE
};

enum class Counts : std::uint8_t { block, vector, table, elements };

// In a rooted collective, one rank, the root, receives blocks from all ranks or
// sends blocks to all. The other ranks' arguments for the root's side mean nothing.
constexpr bool root_receives(Collective one) { return one == Collective::gather || one == Collective::gatherv; }
constexpr bool root_sends(Collective one) { return one == Collective::scatter || one == Collective::scatterv; }
constexpr bool is_rooted(Collective one) { return root_receives(one) || root_sends(one); }

struct CollectiveRow {
  Collective collective;
  const char* name;
  Counts counts;
  bool reduces;
  const char* setting;
  std::span<const char* const> calls;  // They are MPI's functions.
};

extern const CollectiveRow kCollectiveRows[];  // The index is the Collective.
inline const CollectiveRow& row_of(Collective collective) { return kCollectiveRows[static_cast<std::size_t>(collective)]; }
inline const char* name_of(Collective collective) { return row_of(collective).name; }
const char* name_of(Counts counts);
// Returns null if no collective has this name.
const CollectiveRow* find_collective(std::string_view name);
// Returns "alltoall, alltoallv" and so on.
std::string collective_names();

}  // namespace crossrail
