// MPI_Scatter, MPI_Iscatter and MPI_Scatter_init: crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "rooted.h"

namespace {

using bench::Exchange;
using bench::rooted::kRoot;

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::scatter::sides_of(send, recv, exchange);
  return contender.choose(PMPI_Scatter, MPI_Scatter)(from, out.count(exchange.block), out.type, to, in.count(exchange.block), in.type, kRoot, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::scatter::sides_of(send, recv, exchange);
  return contender.choose(PMPI_Iscatter, MPI_Iscatter)(from, out.count(exchange.block), out.type, to, in.count(exchange.block), in.type, kRoot, contender.comm, request);
}

using Init = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::scatter::sides_of(send, recv, exchange);
  return contender.choose(entry.of_mpi, entry.of_crossrail)(from, out.count(exchange.block), out.type, to, in.count(exchange.block), in.type, kRoot, contender.comm, MPI_INFO_NULL, request);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bench::rooted;
  entry = bench::persistent_entry<Init>("Scatter_init");
  return bench::run({"scatter", false, nullptr, prepare, scatter::fill, scatter::check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth}, argc, argv);
}
