// MPI_Allreduce, MPI_Iallreduce and MPI_Allreduce_init, sums of floats (of bytes, for sizes that are no multiple of four): crossrail
// (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "calls.h"
#include "harness.h"
#include "sums.h"

namespace {

using bench::Exchange;

// Here the bytes of a block are those of a rank's elements.
bench::GrowableBuffer prepare(const Exchange& exchange) { return {exchange.block, exchange.block}; }

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) { bench::fill_elements(send, exchange, seed); }

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) { return bench::wrong_sums(recv, exchange, seed); }

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const bench::Elements elements = bench::elements_of(exchange);
  return contender.choose(PMPI_Allreduce, MPI_Allreduce)(send, recv, elements.count, elements.type, MPI_SUM, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Elements elements = bench::elements_of(exchange);
  return contender.choose(PMPI_Iallreduce, MPI_Iallreduce)(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, request);
}

using Init = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Elements elements = bench::elements_of(exchange);
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, MPI_INFO_NULL, request);
}

// Of the elements, whatever becomes of them on their way.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Allreduce_init");
  return bench::run({"allreduce", false, nullptr, prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth, bench::Types::own},
                    argc, argv);
}
