// MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block and MPI_Reduce_scatter_block_init, sums of floats (of bytes, for sizes that are no
// multiple of four): crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "calls.h"
#include "harness.h"
#include "sums.h"

namespace {

using bench::Exchange;

// Room for MPI_IN_PLACE, too.
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

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const bench::Elements elements = bench::elements_of(exchange);
  const auto function = contender.choose(PMPI_Reduce_scatter_block, MPI_Reduce_scatter_block);
  return function(send, recv, elements.count, elements.type, MPI_SUM, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Elements elements = bench::elements_of(exchange);
  const auto function = contender.choose(PMPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block);
  return function(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, request);
}

using Init = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Elements elements = bench::elements_of(exchange);
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, MPI_INFO_NULL, request);
}

// Of the blocks for others, whatever becomes of them on their way.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Reduce_scatter_block_init");
  return bench::run({"reduce_scatter_block", false, nullptr, prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth,
                     bench::Types::own}, argc, argv);
}
