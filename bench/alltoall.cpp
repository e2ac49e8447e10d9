// MPI_Alltoall: crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_).

#include <cstring>

#include "harness.h"

namespace {

// A word that depends on everything that must not be confused.
std::uint64_t word_of(int from, int to, std::uint64_t seed) {
  std::uint64_t word = seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(from) * 0xbf58476d1ce4e5b9ull +
                       static_cast<std::uint64_t>(to) * 0x94d049bb133111ebull;
  word ^= word >> 29;
  return word * 0xd6e8feb86659fd93ull;
}

std::byte byte_of(std::uint64_t word, std::size_t at) {
  return static_cast<std::byte>((word + at / 8 * 0x9e3779b97f4a7c15ull) >> (at % 8 * 8));
}

std::size_t bytes(std::size_t block, int ranks) { return block * static_cast<std::size_t>(ranks); }

void fill(std::byte* send, std::size_t block, int rank, int ranks, std::uint64_t seed) {
  for (int to = 0; to < ranks; ++to) {
    const std::uint64_t word = word_of(rank, to, seed);
    for (std::size_t at = 0; at < block; ++at) send[to * block + at] = byte_of(word, at);
  }
}

std::uint64_t check(const std::byte* recv, std::size_t block, int rank, int ranks, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < ranks; ++from) {
    const std::uint64_t word = word_of(from, rank, seed);
    for (std::size_t at = 0; at < block; ++at) {
      if (recv[from * block + at] == byte_of(word, at)) continue;
      ++wrong;
      break;
    }
  }
  return wrong;
}

int call(const void* send, void* recv, std::size_t block, const bench::Contender& contender) {
  const int count = static_cast<int>(block);
  if (contender.native()) return PMPI_Alltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, contender.comm);
  return MPI_Alltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, contender.comm);
}

double bandwidth(std::size_t block, int ranks, double seconds) {
  return static_cast<double>(block) * (ranks - 1) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run({"alltoall", bytes, fill, check, call, bandwidth}, argc, argv);
}
