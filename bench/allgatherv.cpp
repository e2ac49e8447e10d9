// MPI_Allgatherv, MPI_Iallgatherv and MPI_Allgatherv_init: crossrail (preloaded, under the MPI_ name) against the MPI library (PMPI_) and
// peers. Blocks lie side by side without gaps; how long they are may follow Zipf's law, and some may be empty.

#include "calls.h"
#include "harness.h"
#include "lengths.h"
#include "pattern.h"

namespace {

using bench::Exchange;

// Of the size that is being measured: the blocks as they are received, and as they would lie in a row like that which is sent from.
bench::Lengths received, sent;

std::size_t unit_of(const Exchange& exchange) { return exchange.block % bench::kBlockUnit == 0 ? bench::kBlockUnit : 1; }

// This rank's block lies where it does in the receive buffer, so that one filling serves MPI_IN_PLACE, too.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  bench::lay_out(received, exchange, unit_of(exchange), exchange.received->data_bytes);
  bench::lay_out(sent, exchange, unit_of(exchange), exchange.sent->data_bytes);
  return {sent.elements * exchange.sent->extent, received.elements * exchange.received->extent};
}
std::size_t own_place(const Exchange& exchange) { return static_cast<std::size_t>(sent.places[exchange.rank]) * exchange.sent->extent; }
const void* own_block(const void* send, const Exchange& exchange) {
  return send == MPI_IN_PLACE ? send : static_cast<const std::byte*>(send) + own_place(exchange);
}

std::size_t bytes_of(const bench::Lengths& lengths, const bench::Datatype& type, int rank) {
  return static_cast<std::size_t>(lengths.counts[rank]) * type.data_bytes;
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  exchange.sent->fill(send + own_place(exchange), bytes_of(sent, *exchange.sent, exchange.rank), bench::word_of(exchange.rank, 0, seed));
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const bench::Datatype& type = *exchange.received;
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    wrong += !type.is_right(recv + static_cast<std::size_t>(received.places[from]) * type.extent, bytes_of(received, type, from), bench::word_of(from, 0, seed));
  }
  return wrong;
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  if (contender.crossrails() && contender.name == "allgather") {
    const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
    return MPI_Allgather(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm);
  }
  const auto function = contender.choose(PMPI_Allgatherv, MPI_Allgatherv);
  return function(own_block(send, exchange), sent.counts[exchange.rank], exchange.sent->type, recv, received.counts.data(), received.places.data(),
                  exchange.received->type, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  if (contender.crossrails() && contender.name == "allgather") {
    const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
    return MPI_Iallgather(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, request);
  }
  const auto function = contender.choose(PMPI_Iallgatherv, MPI_Iallgatherv);
  return function(own_block(send, exchange), sent.counts[exchange.rank], exchange.sent->type, recv, received.counts.data(), received.places.data(),
                  exchange.received->type, contender.comm, request);
}

using Init = int (*)(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(own_block(send, exchange), sent.counts[exchange.rank], exchange.sent->type, recv, received.counts.data(), received.places.data(),
                  exchange.received->type, contender.comm, MPI_INFO_NULL, request);
}

// That a rank gets from the others, on average over the ranks.
double bandwidth(const Exchange& exchange, double seconds) {
  const double all = static_cast<double>(received.elements * exchange.received->data_bytes);
  return all * (exchange.ranks - 1) / exchange.ranks / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Allgatherv_init");
  return bench::run({"allgatherv", true, "allgather", prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth}, argc, argv);
}
