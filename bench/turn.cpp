#include "turn.h"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

constexpr double kBatchSeconds = 200e-6;
constexpr int kFewestBatches = 5;
constexpr int kFewestSlowBatches = 3;  // where one call takes a good part of the time for all
constexpr int kMostBatches = 1000;

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

}  // namespace

double now() { return MPI_Wtime(); }

Size make_size(const Bench& bench, std::size_t block, double seconds) {
  Size size{{block, bench.rank, bench.ranks, bench.options.empty_percent}, {}, seconds, {}};
  size.room = bench.collective.prepare(size.exchange);
  return size;
}

Buffers& buffers_of(const Bench& bench, const Contender& contender, Size& size) {
  const std::string owner = contender.peer.allocate == nullptr ? "" : contender.name;
  const Source source = source_of(bench.options.memory, contender);
  return size.buffers.try_emplace(owner, source, size.room, bench.options.buffers).first->second;
}

std::uint64_t checked_call(const Bench& bench, const Contender& contender, Size& size) {
  static std::uint64_t seed = 1;
  Buffers& buffers = buffers_of(bench, contender, size);
  if (!buffers.complete()) {
    std::fprintf(stderr, "bench: rank %d has no memory for blocks of %zu bytes\n", bench.rank, size.exchange.block);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ++seed;
  bench.collective.fill(buffers.outgoing(), size.exchange, seed);
  buffers.ship();
  const int code = bench.collective.call(buffers.send(0), buffers.recv(0), size.exchange, contender);
  const std::byte* incoming = buffers.incoming();
  std::uint64_t wrong = buffers.trespasses() + (code != MPI_SUCCESS);
  if (!contender.peer.unchecked) wrong += bench.collective.check(incoming, size.exchange, seed);
  std::uint64_t all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

double batch(const Bench& bench, const Contender& contender, Size& size, int calls) {
  const Buffers& buffers = buffers_of(bench, contender, size);
  const auto call = [&](std::size_t turn) {
    bench.collective.call(buffers.send(turn), buffers.recv(turn), size.exchange, contender);
  };
  call(0);
  MPI_Barrier(MPI_COMM_WORLD);
  double by_itself = 0;
  const double began = now();
  for (int done = 0; done < calls; ++done) {
    call(done);
    if (contender.peer.seconds != nullptr) by_itself += contender.peer.seconds();
  }
  return contender.peer.seconds != nullptr ? by_itself : now() - began;
}

Pace find_pace(const Bench& bench, const Contender& contender, Size& size) {
  double seconds = slowest(batch(bench, contender, size, 1));
  int fewest = kFewestSlowBatches;
  if (seconds < size.seconds / 4) {
    batch(bench, contender, size, 3);
    seconds = slowest(batch(bench, contender, size, 5) / 5);
    fewest = kFewestBatches;
  }
  Pace pace;
  pace.calls = std::clamp(static_cast<int>(kBatchSeconds / seconds), 1, 200);
  pace.repetitions = bench.options.repetitions > 0
                         ? bench.options.repetitions
                         : std::clamp(static_cast<int>(size.seconds / (seconds * pace.calls)), fewest, kMostBatches);
  return pace;
}

Statistics statistics_of(std::vector<double> seconds) {
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double quantile) { return 1e6 * seconds[static_cast<std::size_t>(quantile * (seconds.size() - 1))]; };
  return {at(0), at(0.5), at(0.99), at(1)};
}

}  // namespace bench
