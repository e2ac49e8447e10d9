// What replayed calls must give by their definition: one message between every two ranks, packed and unpacked without the MPI library's datatypes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "replay_data.h"
#include "replay_player.h"

namespace bench::replay {

struct Judged {
  std::uint64_t calls = 0;                           // that have been compared with the definition, on this rank
  std::array<std::uint64_t, kNames> native_wrong{};  // of them, by name
  std::array<std::uint64_t, kNames> carried_wrong{};
};

// Of both players' results, which come from the same calls. On all ranks together: it communicates on the communicators of `native`.
// Reductions and persistent calls are left out: how the former round is the library's choice, and the latter start in any order.
Judged compare_with_definition(const Program& program, const Data& data, const Player& native, const Player& carried);

}  // namespace bench::replay
