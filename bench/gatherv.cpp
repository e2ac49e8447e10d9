// This bench compares MPI_Gatherv, MPI_Igatherv and MPI_Gatherv_init of crossrail
// (preloaded, under the MPI_ names) with those of the MPI library (PMPI_) and of peers.

#include "rooted.h"

namespace {

using bench::Exchange;
using bench::rooted::kRoot;

// It describes the size that is being measured.
bench::Blocks row;

bench::GrowableBuffer prepare_row(const Exchange& exchange) {
  row = bench::rooted::row_of(exchange, *exchange.received);
  return bench::rooted::prepare(exchange);
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::gather::sides_of(send, recv, exchange);
  return std::tuple<const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int>(from, out.count(exchange.block), out.type, to, row.counts.data(), row.places.data(), in.type, kRoot);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bench::rooted;
  return bench::run<BENCH_FORMS(arguments, Gatherv, gatherv)>({.name = "gatherv", .prepare = prepare_row, .fill = gather::fill, .check = gather::check}, argc, argv);
}
