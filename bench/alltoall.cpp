// MPI_Alltoall: crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "harness.h"
#include "pattern.h"

namespace {

using bench::Exchange;

bench::Room prepare(const Exchange& exchange) {
  const std::size_t bytes = exchange.block * static_cast<std::size_t>(exchange.ranks);
  return {bytes, bytes};
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    bench::fill_block(send + to * exchange.block, exchange.block, bench::word_of(exchange.rank, to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    const std::uint64_t word = bench::word_of(from, exchange.rank, seed);
    wrong += !bench::block_is_right(recv + from * exchange.block, exchange.block, word);
  }
  return wrong;
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const int count = static_cast<int>(exchange.block);
  const auto function = contender.choose(PMPI_Alltoall, MPI_Alltoall);
  return function(send, count, MPI_BYTE, recv, count, MPI_BYTE, contender.comm);
}

double bandwidth(const Exchange& exchange, double seconds) {
  return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run({"alltoall", false, nullptr, prepare, fill, check, call, bandwidth}, argc, argv);
}
