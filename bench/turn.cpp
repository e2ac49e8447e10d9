#include "turn.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "beside.h"

namespace bench {

double now() { return MPI_Wtime(); }

double slowest(double seconds) {
  PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

Size make_size(const Bench& bench, std::size_t block, double seconds) {
  static const Datatypes types = datatypes_of(bench.options.datatype);
  Size size{{block, bench.rank, bench.ranks, bench.options.empty_percent, bench.options.counts, &types.sent, &types.received}, {}, seconds, {}};
  size.room = bench.collective.prepare(size.exchange);
  return size;
}

Buffers& buffers_of(const Bench& bench, const Contender& contender, Size& size) {
  const std::string owner = contender.peer.allocate == nullptr ? "" : contender.name;
  const Source source = source_of(bench.options.memory, contender);
  return size.buffers.try_emplace(owner, source, size.room, sets_of(bench.options)).first->second;
}

std::uint64_t checked_call(const Bench& bench, Calls& calls) {
  static std::uint64_t seed = 1;
  Buffers& buffers = calls.buffers();
  if (!buffers.complete()) {
    std::fprintf(stderr, "bench: rank %d has no memory for blocks of %zu bytes\n", bench.rank, calls.exchange().block);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ++seed;
  if (bench.options.fresh) buffers.renew();
  buffers.check_set(calls.set_of(seed));
  bench.collective.fill(buffers.outgoing(), calls.exchange(), seed);
  if (bench.options.in_place) buffers.ship_in_place();
  else buffers.ship();
  const int code = calls.run(seed);
  const std::byte* incoming = buffers.incoming();
  std::uint64_t wrong = buffers.trespasses() + (code != MPI_SUCCESS);
  if (!calls.contender().peer.unchecked) wrong += bench.collective.check(incoming, calls.exchange(), seed);
  std::uint64_t all = 0;
  PMPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// Each call is timed by itself after a barrier, with its buffers out of the caches.
double batch_off_cache(Calls& calls, int count) {
  calls.run(0);
  double seconds = 0;
  for (int done = 0; done < count; ++done) {
    calls.buffers().flush();
    PMPI_Barrier(MPI_COMM_WORLD);
    const double began = now();
    calls.run(done);
    seconds += now() - began;
  }
  return seconds;
}

// The time includes allocating every call's buffers and freeing those of the call before.
double batch_fresh(Calls& calls, int count) {
  calls.buffers().renew();
  calls.run(0);
  PMPI_Barrier(MPI_COMM_WORLD);
  const double began = now();
  for (int done = 0; done < count; ++done) {
    calls.buffers().renew();
    calls.run(0);
  }
  return now() - began;
}

double batch(Calls& calls, int count) {
  const WorkBeside beside(calls);
  if (calls.off_cache()) return batch_off_cache(calls, count);
  if (calls.fresh()) return batch_fresh(calls, count);
  const LoadedPeer& peer = calls.contender().peer;
  calls.run(0);
  MPI_Barrier(MPI_COMM_WORLD);
  double by_itself = 0;
  const double began = now();
  for (int done = 0; done < count; ++done) {
    calls.run(done);
    if (peer.seconds != nullptr) by_itself += peer.seconds();
  }
  return peer.seconds != nullptr ? by_itself : now() - began;
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

Interval median_interval(std::size_t count) {
  // It is the probability that fewer than k of `count` values lie below the median, a binomial distribution with one half.
  const auto values = static_cast<double>(count);
  double below = 0;
  std::size_t first = 0;
  for (; first < count / 2; ++first) {
    const auto at = static_cast<double>(first);
    below += std::exp(std::lgamma(values + 1) - std::lgamma(at + 1) - std::lgamma(values - at + 1) - values * std::log(2.0));
    if (below > 0.025) break;
  }
  return first == 0 ? Interval{} : Interval{first - 1, count - first, true};
}

Statistics statistics_of(std::vector<double> seconds) {
  PMPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) { return 1e6 * quantile(seconds, part); };
  const double mean = 1e6 * std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  const Interval known = median_interval(seconds.size());
  return {at(0), mean, at(0.5), at(0.99), at(1), known.exists ? 1e6 * seconds[known.low] : 0, known.exists ? 1e6 * seconds[known.high] : 0};
}

}  // namespace bench
