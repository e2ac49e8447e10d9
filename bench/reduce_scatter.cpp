// This bench compares MPI_Reduce_scatter, MPI_Ireduce_scatter and MPI_Reduce_scatter_init of crossrail (preloaded, under the MPI_ names) with those
// of the MPI library (PMPI_) and of peers. They sum floats, or bytes if the size is no multiple of four. The lengths of blocks may follow Zipf's law,
// and some blocks may be empty.

#include <vector>

#include "forms.h"
#include "rows.h"
#include "sums.h"

namespace {

using bench::Exchange;

// They describe the size that is being measured.
std::vector<int> counts;
std::size_t bytes_of_all;

std::size_t element_bytes(const Exchange& exchange) { return bench::floats(exchange) ? sizeof(float) : 1; }

// Returns one block in the form that the functions of sums.h take.
Exchange only(const Exchange& exchange, int number) {
  Exchange one = exchange;
  one.block = static_cast<std::size_t>(counts[number]) * element_bytes(exchange);
  return one;
}

// There is room for MPI_IN_PLACE, too. Lengths are multiples of elements.
bench::GrowableBuffer prepare(const Exchange& exchange) {
  const std::size_t element = element_bytes(exchange);
  counts.clear();
  bytes_of_all = 0;
  for (int to = 0; to < exchange.ranks; ++to) {
    const std::size_t count = bench::length_of(exchange, to, to) / element;
    counts.push_back(static_cast<int>(count));
    bytes_of_all += count * element;
  }
  return {bytes_of_all, bytes_of_all};
}

// Every block differs from the others. Its elements are those of the call, floats or bytes, whatever its own length is.
std::uint64_t seed_of(int block, std::uint64_t seed) { return seed + 17 * static_cast<std::uint64_t>(block); }

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    const Exchange its = only(exchange, to);
    bench::floats(exchange) ? bench::fill_as<float>(send, its, seed_of(to, seed)) : bench::fill_as<unsigned char>(send, its, seed_of(to, seed));
    send += its.block;
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const Exchange own = only(exchange, exchange.rank);
  const std::uint64_t its = seed_of(exchange.rank, seed);
  return bench::floats(exchange) ? bench::wrong_as<float>(recv, own, its) : bench::wrong_as<unsigned char>(recv, own, its);
}

MPI_Datatype type_of(const Exchange& exchange) { return bench::elements_of(exchange).type; }

auto arguments(const void* send, void* recv, const Exchange& exchange) {
  return std::tuple<const void*, void*, const int*, MPI_Datatype, MPI_Op>(send, recv, counts.data(), type_of(exchange), MPI_SUM);
}
using Scatter = BENCH_FORMS(arguments, Reduce_scatter, reduce_scatter);

// The contender does the same.
auto arguments_of_equal(const void* send, void* recv, const Exchange& exchange) {
  return std::tuple(send, recv, counts[0], type_of(exchange), MPI_Op{MPI_SUM});
}
using Regular = BENCH_FORMS(arguments_of_equal, Reduce_scatter_block, reduce_scatter_block);
bool is_regular(const bench::Contender& contender) { return contender.crossrails() && contender.name == "reduce_scatter_block"; }

// It counts the blocks for others once, however often they are moved, on average over the ranks.
double bandwidth(const Exchange& exchange, double seconds) {
  const double all = static_cast<double>(bytes_of_all);
  return all * (exchange.ranks - 1) / exchange.ranks / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<bench::Either<Scatter, Regular, is_regular>>({.name = "reduce_scatter", .lengths_differ = true, .same_as = "reduce_scatter_block",
                                                                  .prepare = prepare, .fill = fill, .check = check, .bandwidth = bandwidth,
                                                                  .types = bench::Types::own}, argc, argv);
}
