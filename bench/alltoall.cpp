// MPI_Alltoall, MPI_Ialltoall and MPI_Alltoall_init: crossrail (preloaded, under the MPI_ name) against the MPI
// library (PMPI_) and peers.

#include "calls.h"
#include "harness.h"
#include "pattern.h"

namespace {

using bench::Exchange;

bench::GrowableBuffer prepare(const Exchange& exchange) {
  const auto ranks = static_cast<std::size_t>(exchange.ranks);
  return {exchange.sent->reach(exchange.block) * ranks, exchange.received->reach(exchange.block) * ranks};
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    exchange.sent->fill(send + to * exchange.sent->reach(exchange.block), exchange.block, bench::word_of(exchange.rank, to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    const std::uint64_t word = bench::word_of(from, exchange.rank, seed);
    wrong += !exchange.received->is_right(recv + from * exchange.received->reach(exchange.block), exchange.block, word);
  }
  return wrong;
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(PMPI_Alltoall, MPI_Alltoall);
  return function(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(PMPI_Ialltoall, MPI_Ialltoall);
  return function(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, request);
}

using Init = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, MPI_INFO_NULL, request);
}

double bandwidth(const Exchange& exchange, double seconds) {
  return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Alltoall_init");
  return bench::run({"alltoall", false, nullptr, prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth}, argc, argv);
}
