// MPI_Allgather, MPI_Iallgather and MPI_Allgather_init: crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and
// peers.

#include "calls.h"
#include "harness.h"
#include "pattern.h"

namespace {

using bench::Exchange;

std::size_t place_of(const bench::Datatype& type, const Exchange& exchange, int rank) { return type.reach(exchange.block) * static_cast<std::size_t>(rank); }

// This rank's block lies where it does in the receive buffer, so that one filling serves MPI_IN_PLACE, too.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  return {place_of(*exchange.sent, exchange, exchange.ranks), place_of(*exchange.received, exchange, exchange.ranks)};
}
const void* own_block(const void* send, const Exchange& exchange) {
  return send == MPI_IN_PLACE ? send : static_cast<const std::byte*>(send) + place_of(*exchange.sent, exchange, exchange.rank);
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  exchange.sent->fill(send + place_of(*exchange.sent, exchange, exchange.rank), exchange.block, bench::word_of(exchange.rank, 0, seed));
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    wrong += !exchange.received->is_right(recv + place_of(*exchange.received, exchange, from), exchange.block, bench::word_of(from, 0, seed));
  }
  return wrong;
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(PMPI_Allgather, MPI_Allgather);
  return function(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(PMPI_Iallgather, MPI_Iallgather);
  return function(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, request);
}

using Init = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, MPI_INFO_NULL, request);
}

// That every rank gets from the others.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Allgather_init");
  return bench::run({"allgather", false, nullptr, prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth}, argc, argv);
}
