// MPI_Reduce_scatter, MPI_Ireduce_scatter and MPI_Reduce_scatter_init, sums of floats (of bytes, for sizes that are no multiple of four):
// crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers. How long blocks are may follow Zipf's law, and some
// may be empty.

#include "calls.h"
#include "harness.h"
#include "lengths.h"
#include "sums.h"

namespace {

using bench::Exchange;

bench::Lengths blocks;  // of the size that is being measured

std::size_t element_bytes(const Exchange& exchange) { return bench::floats(exchange) ? sizeof(float) : 1; }

// One block, as the functions of sums.h take it.
Exchange only(const Exchange& exchange, int number) {
  Exchange one = exchange;
  one.block = static_cast<std::size_t>(blocks.counts[number]) * element_bytes(exchange);
  return one;
}

// Room for MPI_IN_PLACE, too.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  bench::lay_out(blocks, exchange, element_bytes(exchange), element_bytes(exchange));
  const std::size_t row = blocks.elements * element_bytes(exchange);
  return {row, row};
}

// Every block differs from the others. Its elements are those of the call, floats or bytes, whatever its own length.
std::uint64_t seed_of(int block, std::uint64_t seed) { return seed + 17 * static_cast<std::uint64_t>(block); }

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    std::byte* const block = send + static_cast<std::size_t>(blocks.places[to]) * element_bytes(exchange);
    const Exchange its = only(exchange, to);
    bench::floats(exchange) ? bench::fill_as<float>(block, its, seed_of(to, seed)) : bench::fill_as<unsigned char>(block, its, seed_of(to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const Exchange own = only(exchange, exchange.rank);
  const std::uint64_t its = seed_of(exchange.rank, seed);
  return bench::floats(exchange) ? bench::wrong_as<float>(recv, own, its) : bench::wrong_as<unsigned char>(recv, own, its);
}

MPI_Datatype type_of(const Exchange& exchange) { return bench::elements_of(exchange).type; }

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  if (contender.crossrails() && contender.name == "reduce_scatter_block") {
    return MPI_Reduce_scatter_block(send, recv, blocks.counts[0], type_of(exchange), MPI_SUM, contender.comm);
  }
  const auto function = contender.choose(PMPI_Reduce_scatter, MPI_Reduce_scatter);
  return function(send, recv, blocks.counts.data(), type_of(exchange), MPI_SUM, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  if (contender.crossrails() && contender.name == "reduce_scatter_block") {
    return MPI_Ireduce_scatter_block(send, recv, blocks.counts[0], type_of(exchange), MPI_SUM, contender.comm, request);
  }
  const auto function = contender.choose(PMPI_Ireduce_scatter, MPI_Ireduce_scatter);
  return function(send, recv, blocks.counts.data(), type_of(exchange), MPI_SUM, contender.comm, request);
}

using Init = int (*)(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, recv, blocks.counts.data(), type_of(exchange), MPI_SUM, contender.comm, MPI_INFO_NULL, request);
}

// Of the blocks for others, whatever becomes of them on their way; on average over the ranks.
double bandwidth(const Exchange& exchange, double seconds) {
  const double all = static_cast<double>(blocks.elements * element_bytes(exchange));
  return all * (exchange.ranks - 1) / exchange.ranks / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Reduce_scatter_init");
  return bench::run({"reduce_scatter", true, "reduce_scatter_block", prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth,
                     bench::Types::own}, argc, argv);
}
