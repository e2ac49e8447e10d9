// MPI_Allreduce, MPI_Iallreduce and MPI_Allreduce_init, sums of floats (of bytes, for sizes that are no multiple of four): crossrail
// (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "forms.h"
#include "sums.h"

namespace {

using bench::Exchange;

// Here the bytes of a block are those of a rank's elements.
bench::GrowableBuffer prepare(const Exchange& exchange) { return {exchange.block, exchange.block}; }

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Elements elements = bench::elements_of(exchange);
  return std::tuple(send, recv, elements.count, elements.type, MPI_Op{MPI_SUM});
}

// Of the elements, whatever becomes of them on their way.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Allreduce, allreduce)>({.name = "allreduce", .prepare = prepare, .fill = bench::fill_elements,
                                                                   .check = bench::wrong_sums, .bandwidth = bandwidth, .types = bench::Types::own}, argc, argv);
}
