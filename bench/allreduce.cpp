// This bench compares MPI_Allreduce, MPI_Iallreduce and MPI_Allreduce_init of crossrail (preloaded, under the MPI_ names) with those of the MPI
// library (PMPI_) and of peers. They sum floats, or bytes if the size is no multiple of four.

#include "forms.h"
#include "sums.h"

namespace {

using bench::Exchange;

// Here the bytes of a block are the bytes of a rank's elements.
bench::GrowableBuffer prepare(const Exchange& exchange) { return {exchange.block, exchange.block}; }

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Elements elements = bench::elements_of(exchange);
  return std::tuple(send, recv, elements.count, elements.type, MPI_Op{MPI_SUM});
}

// It counts the elements once, however often they are moved.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Allreduce, allreduce)>({.name = "allreduce", .prepare = prepare, .fill = bench::fill_elements,
                                                                   .check = bench::wrong_sums, .bandwidth = bandwidth, .types = bench::Types::own}, argc, argv);
}
