// This bench compares MPI_Allgatherv, MPI_Iallgatherv and MPI_Allgatherv_init of crossrail (preloaded, under the MPI_ names) with those of the MPI
// library (PMPI_) and of peers. Blocks lie side by side without gaps. Their lengths may follow Zipf's law, and some blocks may be empty.

#include "forms.h"
#include "rows.h"

namespace {

using bench::Exchange;

// For the size that is being measured, these are the blocks as they are received, and as they would lie in a row like the send buffer's.
bench::Blocks received, sent;

// This rank's block has the same place as in the receive buffer, so that one filling also serves MPI_IN_PLACE.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  const auto length_at = [&](int from) { return bench::length_of(exchange, from, from); };
  received = bench::blocks_in_row(exchange, *exchange.received, length_at);
  sent = bench::blocks_in_row(exchange, *exchange.sent, length_at);
  return {sent.bytes, received.bytes};
}
const void* own_block(const void* send, const Exchange& exchange) {
  return send == MPI_IN_PLACE ? send : sent.at(static_cast<const std::byte*>(send), *exchange.sent, exchange.rank);
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  const bench::Datatype& type = *exchange.sent;
  type.fill(sent.at(send, type, exchange.rank), sent.length(type, exchange.rank), bench::word_of(exchange.rank, 0, seed));
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const bench::Datatype& type = *exchange.received;
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    wrong += !type.is_right(received.at(recv, type, from), received.length(type, from), bench::word_of(from, 0, seed));
  }
  return wrong;
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  return std::tuple<const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype>(
      own_block(send, exchange), sent.counts[exchange.rank], exchange.sent->type, recv, received.counts.data(), received.places.data(), exchange.received->type);
}
using Vector = BENCH_FORMS(arguments, Allgatherv, allgatherv);

// The contender makes the same exchange.
auto arguments_of_allgather(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  return std::tuple(own_block(send, exchange), out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type);
}
using Regular = BENCH_FORMS(arguments_of_allgather, Allgather, allgather);
bool is_regular(const bench::Contender& contender) { return contender.crossrails() && contender.name == "allgather"; }

// It counts what a rank gets from the others, on average over the ranks.
double bandwidth(const Exchange& exchange, double seconds) {
  const double all = static_cast<double>(received.bytes / exchange.received->extent * exchange.received->data_bytes);
  return all * (exchange.ranks - 1) / exchange.ranks / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<bench::Either<Vector, Regular, is_regular>>(
      {.name = "allgatherv", .lengths_differ = true, .same_as = "allgather", .prepare = prepare, .fill = fill, .check = check, .bandwidth = bandwidth}, argc, argv);
}
