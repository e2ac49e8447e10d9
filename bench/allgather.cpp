// This bench compares MPI_Allgather, MPI_Iallgather and MPI_Allgather_init of crossrail (preloaded, under the MPI_ names) with those of the MPI
// library (PMPI_) and of peers.

#include "forms.h"
#include "rows.h"

namespace {

using bench::Exchange;

// This rank's block has the same place as in the receive buffer, so that one filling also serves MPI_IN_PLACE.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  return {place_of(*exchange.sent, exchange, exchange.ranks), place_of(*exchange.received, exchange, exchange.ranks)};
}
const void* own_block(const void* send, const Exchange& exchange) {
  return send == MPI_IN_PLACE ? send : static_cast<const std::byte*>(send) + place_of(*exchange.sent, exchange, exchange.rank);
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  exchange.sent->fill(send + place_of(*exchange.sent, exchange, exchange.rank), exchange.block, bench::word_of(exchange.rank, 0, seed));
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) { return bench::wrong_in_row(recv, exchange, 0, seed); }

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  return std::tuple(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Allgather, allgather)>({.name = "allgather", .prepare = prepare, .fill = fill, .check = check}, argc, argv);
}
