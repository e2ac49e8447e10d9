#include "peer.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace bench {

namespace {

// Returns what is found beside the symbol, or null.
void* beside(void* library, const Peer& peer, const char* ending) {
  return dlsym(library, (peer.symbol + ending).c_str());
}

LoadedPeer all_of(void* library, const Peer& peer, void* function) {
  LoadedPeer loaded;
  loaded.call = reinterpret_cast<PeerFunction>(function);
  loaded.allocate = reinterpret_cast<void* (*)(std::size_t)>(beside(library, peer, "_alloc"));
  loaded.release = reinterpret_cast<void (*)(void*)>(beside(library, peer, "_free"));
  if (loaded.release == nullptr) loaded.allocate = nullptr;
  loaded.seconds = reinterpret_cast<double (*)()>(beside(library, peer, "_seconds"));
  loaded.version = reinterpret_cast<const char* (*)()>(beside(library, peer, "_version"));
  loaded.unchecked = beside(library, peer, "_unchecked") != nullptr;
  return loaded;
}

}  // namespace

LoadedPeer load_peer(const Peer& peer) {
  void* library = dlopen(peer.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, peer.symbol.c_str());
  const char* error = function == nullptr ? dlerror() : nullptr;
  const std::string said = error == nullptr ? "its symbol is null" : error;  // MPI calls dlerror, too.
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int first_without = function == nullptr ? rank : ranks;
  PMPI_Allreduce(MPI_IN_PLACE, &first_without, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first_without == rank) {
    std::fprintf(stderr, "bench: rank %d cannot load the peer '%s': %s\n", rank, peer.name.c_str(), said.c_str());
  }
  return first_without == ranks ? all_of(library, peer, function) : LoadedPeer{};
}

}  // namespace bench
