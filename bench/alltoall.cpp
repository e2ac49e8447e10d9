// This bench compares MPI_Alltoall, MPI_Ialltoall and MPI_Alltoall_init of crossrail
// (preloaded, under the MPI_ names) with those of the MPI library (PMPI_) and of peers.

#include "forms.h"
#include "rows.h"

namespace {

using bench::Exchange;

bench::GrowableBuffer prepare(const Exchange& exchange) {
  return {place_of(*exchange.sent, exchange, exchange.ranks), place_of(*exchange.received, exchange, exchange.ranks)};
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    exchange.sent->fill(send + place_of(*exchange.sent, exchange, to), exchange.block, bench::word_of(exchange.rank, to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  return bench::wrong_in_row(recv, exchange, exchange.rank, seed);
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  return std::tuple(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Alltoall, alltoall)>({.name = "alltoall", .prepare = prepare, .fill = fill, .check = check}, argc, argv);
}
