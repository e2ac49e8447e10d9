// This bench compares MPI_Scatterv, MPI_Iscatterv and MPI_Scatterv_init of crossrail
// (preloaded, under the MPI_ names) with those of the MPI library (PMPI_) and of peers.

#include "rooted.h"

namespace {

using bench::Exchange;
using bench::rooted::kRoot;

// It describes the size that is being measured.
bench::Blocks row;

bench::GrowableBuffer prepare_row(const Exchange& exchange) {
  row = bench::rooted::row_of(exchange, *exchange.sent);
  return bench::rooted::prepare(exchange);
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto [from, to] = bench::rooted::scatter::sides_of(send, recv, exchange);
  return std::tuple<const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int>(from, row.counts.data(), row.places.data(), out.type, to, in.count(exchange.block), in.type, kRoot);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bench::rooted;
  return bench::run<BENCH_FORMS(arguments, Scatterv, scatterv)>({.name = "scatterv", .prepare = prepare_row, .fill = scatter::fill, .check = scatter::check}, argc, argv);
}
