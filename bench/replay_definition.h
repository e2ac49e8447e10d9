// This checks replayed calls against their definition: one message between every two ranks, packed and unpacked without the MPI library's datatypes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "replay_data.h"
#include "replay_player.h"

namespace bench::replay {

struct Judged {
  std::uint64_t calls = 0;                           // So many have been compared with the definition on this rank.
  std::array<std::uint64_t, kNames> native_wrong{};  // So many of them were wrong, by name.
  std::array<std::uint64_t, kNames> carried_wrong{};
};

// Compares the results of both players, which come from the same calls. All ranks call it together, because it communicates on the communicators of
// `native`. It leaves out reductions, whose rounding is the library's choice, and persistent calls, which start in any order.
Judged compare_with_definition(const Program& program, const Data& data, const Player& native, const Player& carried);

}  // namespace bench::replay
