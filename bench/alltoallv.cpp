// This bench compares MPI_Alltoallv, MPI_Ialltoallv and MPI_Alltoallv_init of crossrail with those of the MPI library, and with MPI_Alltoall if all
// blocks have the same length. Blocks lie side by side without gaps. A hash that both ends know draws the pairs of ranks whose blocks are empty. The
// amounts for the ranks may follow Zipf's law, as they do if a few experts of a mixture are popular.

#include "forms.h"
#include "rows.h"

namespace {

using bench::Exchange;

// They describe the size that is being measured.
bench::Blocks sent, received;

bench::GrowableBuffer prepare(const Exchange& exchange) {
  sent = bench::blocks_in_row(exchange, *exchange.sent, [&](int to) { return bench::length_of(exchange, exchange.rank, to); });
  received = bench::blocks_in_row(exchange, *exchange.received, [&](int from) { return bench::length_of(exchange, from, exchange.rank); });
  return {sent.bytes, received.bytes};
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  const bench::Datatype& type = *exchange.sent;
  for (int to = 0; to < exchange.ranks; ++to) type.fill(sent.at(send, type, to), sent.length(type, to), bench::word_of(exchange.rank, to, seed));
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const bench::Datatype& type = *exchange.received;
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    wrong += !type.is_right(received.at(recv, type, from), received.length(type, from), bench::word_of(from, exchange.rank, seed));
  }
  return wrong;
}

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  return std::tuple<const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype>(
      send, sent.counts.data(), sent.places.data(), exchange.sent->type, recv, received.counts.data(), received.places.data(), exchange.received->type);
}
using Vector = BENCH_FORMS(arguments, Alltoallv, alltoallv);

// The contender makes the same exchange.
auto arguments_of_alltoall(const void* send, void* recv, const Exchange& exchange) {
  const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
  return std::tuple(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type);
}
using Regular = BENCH_FORMS(arguments_of_alltoall, Alltoall, alltoall);

bool is_regular(const bench::Contender& contender) { return contender.crossrails() && contender.name == "alltoall"; }

// It is an average over the ranks: with Zipf's law, too, one block per rank stays on its rank in the mean.
double bandwidth(const Exchange& exchange, double seconds) {
  return bench::sent_to_others(exchange, seconds) * (100 - exchange.empty_percent) / 100;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<bench::Either<Vector, Regular, is_regular>>({.name = "alltoallv", .lengths_differ = true, .same_as = "alltoall", .prepare = prepare, .fill = fill,
                                                                 .check = check, .bandwidth = bandwidth}, argc, argv);
}
