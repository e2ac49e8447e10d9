#include "peer.h"

#include <dlfcn.h>

#include <cstdio>

namespace bench {

PeerFunction load_peer(const Peer& peer) {
  void* library = dlopen(peer.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, peer.symbol.c_str());
  const char* said = function == nullptr ? dlerror() : nullptr;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int first_without = function == nullptr ? rank : ranks;
  MPI_Allreduce(MPI_IN_PLACE, &first_without, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first_without == rank) {
    std::fprintf(stderr, "bench: rank %d cannot load the peer '%s': %s\n", rank, peer.name.c_str(), said == nullptr ? "its symbol is null" : said);
  }
  return first_without == ranks ? reinterpret_cast<PeerFunction>(function) : nullptr;
}

}  // namespace bench
