// Peers are contenders from other libraries.
//
// `--peer NAME=LIBRARY:SYMBOL` names a C function with the signature of the collective. Beside SYMBOL, the library may have each of these:
//   void* SYMBOL_alloc(size_t bytes)    the peer is measured on buffers of its own, in the memory that the bench
//   void SYMBOL_free(void* memory)      runs on; all ranks ask for them, and free them, in the same order,
//                                       including null. A library has both or neither
//   double SYMBOL_seconds(void)         the time of the last call, which replaces the clock's
//   const char* SYMBOL_version(void)    what is measured: "NCCL 2.28.9"
//   SYMBOL_unchecked                    of any type: the peer does not make the whole exchange, so its data
//                                       are not checked
// A peer that cannot work here says why on standard error and returns an error
// from its first call, on any rank. It is left out, and the others go on.
#pragma once

#include "harness.h"

namespace bench {

// Loads what the library has. Collective over MPI_COMM_WORLD: if one rank cannot load it, that rank says why, and no rank has a function.
LoadedPeer load_peer(const Peer& peer);

}  // namespace bench
