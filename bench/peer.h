// Contenders from other libraries.
//
// `--peer NAME=LIBRARY:SYMBOL` names a C function with the signature of the collective. Beside SYMBOL the
// library may have, each for itself:
//   void* SYMBOL_alloc(size_t bytes)    the peer is measured on buffers of its own, in the memory that the bench
//   void SYMBOL_free(void* memory)      runs on; all ranks ask for them, and give them back, in the same order,
//                                       null included. Both or neither
//   double SYMBOL_seconds(void)         the time of the last call, to be used instead of the clock's
//   const char* SYMBOL_version(void)    what is measured: "NCCL 2.28.9"
//   SYMBOL_unchecked                    anything: the peer does not make the whole exchange, so that its data
//                                       are not checked
// A peer that cannot work here says why on standard error and returns an error from its first call, on any
// rank: it is left out, the others go on.
#pragma once

#include "harness.h"

namespace bench {

// What the library has. Collective over MPI_COMM_WORLD: no function on any rank, and one of them says why,
// where one cannot load it.
LoadedPeer load_peer(const Peer& peer);

}  // namespace bench
