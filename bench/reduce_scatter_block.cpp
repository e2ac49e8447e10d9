// This bench compares MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block and MPI_Reduce_scatter_block_init of crossrail (preloaded, under the MPI_
// names) with those of the MPI library (PMPI_) and of peers. They sum floats, or bytes if the size is no multiple of four.

#include "forms.h"
#include "sums.h"

namespace {

using bench::Exchange;

// There is room for MPI_IN_PLACE, too.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  const std::size_t row = exchange.block * static_cast<std::size_t>(exchange.ranks);
  return {row, row};
}

// Every block differs from the others.
std::uint64_t seed_of(int block, std::uint64_t seed) { return seed + 17 * static_cast<std::uint64_t>(block); }

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    bench::fill_elements(send + static_cast<std::size_t>(to) * exchange.block, exchange, seed_of(to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  return bench::wrong_sums(recv, exchange, seed_of(exchange.rank, seed));
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Elements elements = bench::elements_of(exchange);
  return std::tuple(send, recv, elements.count, elements.type, MPI_Op{MPI_SUM});
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Reduce_scatter_block, reduce_scatter_block)>(
      {.name = "reduce_scatter_block", .prepare = prepare, .fill = fill, .check = check, .types = bench::Types::own}, argc, argv);
}
