// MPI_Alltoallv, MPI_Ialltoallv and MPI_Alltoallv_init: crossrail against the MPI library, and against MPI_Alltoall where all blocks are
// equally long. Blocks lie side by side without gaps; empty ones are pairs of ranks drawn by a hash
// that both ends know; how much goes to a rank may follow Zipf's law, as it does where a few experts of a mixture are popular.

#include <climits>
#include <cstdio>
#include <numeric>
#include <vector>

#include "calls.h"
#include "harness.h"
#include "pattern.h"

namespace {

using bench::Exchange;

struct Side {
  std::vector<int> counts, places;
  std::size_t bytes = 0;
};

// Of the size that is being measured.
Side sent, received;

bool is_empty(int from, int to, int percent) {
  constexpr std::uint64_t kSeed = 0x5eed;  // not the data's: the same pairs in every call
  return static_cast<int>((bench::word_of(from, to, kSeed) >> 32) % 100) < percent;
}

// Bytes of data.
std::size_t length_of(const Exchange& exchange, int from, int to) {
  if (is_empty(from, to, exchange.empty_percent)) return 0;
  if (exchange.counts == bench::Counts::equal) return exchange.block;
  double all = 0;
  for (int rank = 0; rank < exchange.ranks; ++rank) all += 1.0 / (rank + 1);
  const double exact = static_cast<double>(exchange.block) * exchange.ranks / (all * (to + 1));
  const std::size_t multiple = exchange.block % bench::kBlockUnit == 0 ? bench::kBlockUnit : 1;
  return static_cast<std::size_t>(exact) / multiple * multiple;
}

const bench::Datatype& type_of(const Exchange& exchange, bool sending) { return sending ? *exchange.sent : *exchange.received; }

void lay_out(Side& side, const Exchange& exchange, bool sending) {
  const bench::Datatype& type = type_of(exchange, sending);
  side.counts.assign(exchange.ranks, 0);
  side.places.assign(exchange.ranks, 0);
  std::size_t elements = 0;
  for (int peer = 0; peer < exchange.ranks; ++peer) {
    const std::size_t length = sending ? length_of(exchange, exchange.rank, peer) : length_of(exchange, peer, exchange.rank);
    elements += length / type.data_bytes;
    if (elements > INT_MAX) {
      std::fprintf(stderr, "bench: blocks of %zu bytes for %d ranks are more than MPI_Alltoallv's displacements hold\n", exchange.block, exchange.ranks);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    side.counts[peer] = type.count(length);
  }
  std::exclusive_scan(side.counts.begin(), side.counts.end(), side.places.begin(), 0);
  side.bytes = elements * type.extent;
}

bench::GrowableBuffer prepare(const Exchange& exchange) {
  lay_out(sent, exchange, true);
  lay_out(received, exchange, false);
  return {sent.bytes, received.bytes};
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    const bench::Datatype& type = *exchange.sent;
    type.fill(send + static_cast<std::size_t>(sent.places[to]) * type.extent, static_cast<std::size_t>(sent.counts[to]) * type.data_bytes,
              bench::word_of(exchange.rank, to, seed));
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    const std::uint64_t word = bench::word_of(from, exchange.rank, seed);
    const bench::Datatype& type = *exchange.received;
    wrong += !type.is_right(recv + static_cast<std::size_t>(received.places[from]) * type.extent,
                            static_cast<std::size_t>(received.counts[from]) * type.data_bytes, word);
  }
  return wrong;
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  if (contender.crossrails() && contender.name == "alltoall") {
    const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
    return MPI_Alltoall(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm);
  }
  const auto function = contender.choose(PMPI_Alltoallv, MPI_Alltoallv);
  return function(send, sent.counts.data(), sent.places.data(), exchange.sent->type, recv, received.counts.data(),
                  received.places.data(), exchange.received->type, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  if (contender.crossrails() && contender.name == "alltoall") {
    const bench::Datatype &out = *exchange.sent, &in = *exchange.received;
    return MPI_Ialltoall(send, out.count(exchange.block), out.type, recv, in.count(exchange.block), in.type, contender.comm, request);
  }
  const auto function = contender.choose(PMPI_Ialltoallv, MPI_Ialltoallv);
  return function(send, sent.counts.data(), sent.places.data(), exchange.sent->type, recv, received.counts.data(),
                  received.places.data(), exchange.received->type, contender.comm, request);
}

using Init = int (*)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm,
                     MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, sent.counts.data(), sent.places.data(), exchange.sent->type, recv, received.counts.data(),
                  received.places.data(), exchange.received->type, contender.comm, MPI_INFO_NULL, request);
}

// On average over the ranks: by Zipf's law, too, what stays on its rank is one block in the mean.
double bandwidth(const Exchange& exchange, double seconds) {
  return static_cast<double>(exchange.block) * (exchange.ranks - 1) * (100 - exchange.empty_percent) / 100 / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Alltoallv_init");
  return bench::run({"alltoallv", true, "alltoall", prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth}, argc, argv);
}
