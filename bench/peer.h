// Contenders from other libraries.
#pragma once

#include "harness.h"

namespace bench {

// The peer's function. Collective over MPI_COMM_WORLD: null on all ranks, and one of them says why,
// where one cannot load it.
PeerFunction load_peer(const Peer& peer);

}  // namespace bench
