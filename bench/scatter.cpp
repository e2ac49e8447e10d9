// This bench compares MPI_Scatter, MPI_Iscatter and MPI_Scatter_init of crossrail
// (preloaded, under the MPI_ names) with those of the MPI library (PMPI_) and of peers.

#include "rooted.h"

namespace {

using bench::Exchange;
using bench::rooted::kRoot;

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::scatter::sides_of(send, recv, exchange);
  return std::tuple<const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int>(from, out.count(exchange.block), out.type, to, in.count(exchange.block), in.type, kRoot);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bench::rooted;
  return bench::run<BENCH_FORMS(arguments, Scatter, scatter)>({.name = "scatter", .prepare = prepare, .fill = scatter::fill, .check = scatter::check}, argc, argv);
}
