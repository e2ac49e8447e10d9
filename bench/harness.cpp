#include "harness.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "peer.h"
#include "report.h"

namespace bench {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr int kPoison = 0xA5;
constexpr double kBatchSeconds = 200e-6;
constexpr int kFewestBatches = 5;
constexpr int kFewestSlowBatches = 3;  // where one call takes a good part of the time for all
constexpr int kMostBatches = 1000;

struct BufferSet {
  std::unique_ptr<std::byte[]> send;
  std::unique_ptr<std::byte[]> recv;
};

struct Bench {
  const Collective& collective;
  Options options;
  int rank, ranks;
  double began;
  std::vector<Contender> contenders;
};

// What is measured at one size.
struct Size {
  Exchange exchange;
  Room room;
  double seconds;  // for a contender
  std::vector<BufferSet> sets;
};

double now() { return MPI_Wtime(); }

Size make_size(const Bench& bench, std::size_t block, double seconds) {
  Size size{{block, bench.rank, bench.ranks, bench.options.empty_percent}, {}, seconds, {}};
  size.room = bench.collective.prepare(size.exchange);
  size.sets.resize(bench.options.buffers);
  for (BufferSet& set : size.sets) {
    set.send = std::make_unique<std::byte[]>(size.room.send_bytes + kGuardBytes);
    set.recv = std::make_unique<std::byte[]>(size.room.recv_bytes + kGuardBytes);
  }
  return size;
}

// Fresh data, poisoned receive buffer, guard zone: how many blocks came out wrong, over all ranks.
std::uint64_t checked_call(const Bench& bench, const Contender& contender, Size& size) {
  static std::uint64_t seed = 1;
  BufferSet& set = size.sets[0];
  ++seed;
  bench.collective.fill(set.send.get(), size.exchange, seed);
  std::memset(set.recv.get(), kPoison, size.room.recv_bytes + kGuardBytes);
  bench.collective.call(set.send.get(), set.recv.get(), size.exchange, contender);
  std::uint64_t wrong = bench.collective.check(set.recv.get(), size.exchange, seed);
  for (std::size_t i = 0; i < kGuardBytes; ++i) wrong += set.recv[size.room.recv_bytes + i] != std::byte{kPoison};
  std::uint64_t all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// Seconds of `calls` calls in a row, on this rank; one call before them undoes what the contender
// before has done to the caches.
double batch(const Bench& bench, const Contender& contender, Size& size, int calls) {
  const auto call = [&](BufferSet& set) { bench.collective.call(set.send.get(), set.recv.get(), size.exchange, contender); };
  call(size.sets[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = now();
  for (int done = 0; done < calls; ++done) call(size.sets[done % size.sets.size()]);
  return now() - began;
}

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

struct Pace {
  int calls;        // in a batch
  int repetitions;  // batches
};

// From one timed batch: how many calls make a batch worth timing, and how many batches there is time for.
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

std::string last_algorithm() {
  using Last = const char* (*)();
  const auto last = reinterpret_cast<Last>(dlsym(RTLD_DEFAULT, "crossrail_last_algorithm"));
  return last == nullptr ? "native" : last();
}

void run_size(const Bench& bench, Size& size, Report& report) {
  std::vector<Pace> paces;
  std::vector<Row> rows;
  int repetitions = 0;
  for (const Contender& contender : bench.contenders) {
    Row row{size.exchange.block, contender.name, "native", {}, 0, 0, 0};
    row.wrong = checked_call(bench, contender, size);
    if (!contender.native()) row.algorithm = contender.peer == nullptr ? last_algorithm() : "peer";
    paces.push_back(find_pace(bench, contender, size));
    repetitions = std::max(repetitions, paces.back().repetitions);
    rows.push_back(row);
  }
  std::vector<std::vector<double>> seconds(rows.size());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 draw(1);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    // Nobody always comes after the same other: the order is drawn, alike on every rank.
    std::shuffle(order.begin(), order.end(), draw);
    for (const std::size_t one : order) {
      if (repetition >= paces[one].repetitions) continue;
      const int calls = paces[one].calls;
      seconds[one].push_back(batch(bench, bench.contenders[one], size, calls) / calls);
    }
  }
  for (std::size_t one = 0; one < rows.size(); ++one) {
    rows[one].times = statistics_of(seconds[one]);
    rows[one].repetitions = paces[one].repetitions;
    rows[one].bandwidth = bench.collective.bandwidth(size.exchange, rows[one].times.p50_us * 1e-6);
    rows[one].wrong += checked_call(bench, bench.contenders[one], size);
    report.add(rows[one]);
  }
}

// CROSSRAIL_ALLTOALLV for alltoallv.
std::string variable_of(const std::string& collective) {
  std::string variable = "CROSSRAIL_";
  for (const char letter : collective) variable += static_cast<char>(std::toupper(letter));
  return variable;
}

// What crossrail is told to do for a contender; empty: to choose.
std::string wanted_of(const Bench& bench, const std::string& contender) {
  const char* same_as = bench.collective.same_as;
  if (contender == "auto" || (same_as != nullptr && contender == same_as)) return "";
  return contender == "passed" ? "native" : contender;
}

// crossrail_set, in the preloaded library, makes the algorithm that of the communicators whose first
// call comes next. Null where crossrail is not preloaded.
using Set = int (*)(const char* variable, const char* value);

void tell_crossrail(const Bench& bench, Set set, const std::string& contender) {
  set(variable_of(bench.collective.name).c_str(), wanted_of(bench, contender).c_str());
  if (bench.collective.same_as != nullptr) set(variable_of(bench.collective.same_as).c_str(), "");
}

// Communicator and first call of a contender.
void admit(Bench& bench, Set set, Contender contender) {
  MPI_Comm_dup(MPI_COMM_WORLD, &contender.comm);
  if (contender.crossrails()) tell_crossrail(bench, set, contender.name);
  if (!contender.native()) {
    Size size = make_size(bench, 1, 0);
    bench.collective.call(size.sets[0].send.get(), size.sets[0].recv.get(), size.exchange, contender);
  }
  bench.contenders.push_back(std::move(contender));
}

bool make_contenders(Bench& bench) {
  const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  std::vector<Contender> all;
  for (const std::string& name : bench.options.contenders) {
    all.push_back({name, MPI_COMM_NULL, nullptr});
    if (all.back().native() || set != nullptr) continue;
    if (bench.rank == 0) std::fprintf(stderr, "bench: crossrail is not preloaded: only 'native' and peers can run\n");
    return false;
  }
  for (const Peer& peer : bench.options.peers) all.push_back({peer.name, MPI_COMM_NULL, load_peer(peer)});
  const bool loaded = std::none_of(all.begin() + bench.options.contenders.size(), all.end(), [](const Contender& one) { return one.peer == nullptr; });
  if (!loaded) return false;
  for (const Contender& contender : all) admit(bench, set, contender);
  return true;
}

// Seconds for a contender at the next of `sizes` sizes, the same on every rank; 0 when none are left.
double share_of_time(const Bench& bench, int sizes) {
  const Options& options = bench.options;
  if (options.most_seconds <= 0) return options.seconds_a_size;
  double left = bench.began + options.most_seconds - now();
  MPI_Bcast(&left, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return std::clamp(left / (sizes * static_cast<double>(bench.contenders.size())), 0.0, options.seconds_a_size);
}

void run_sizes(const Bench& bench, Report& report) {
  std::vector<std::size_t> blocks;
  for (std::size_t block = std::max<std::size_t>(1, bench.options.min_bytes); block <= bench.options.max_bytes; block *= 2) blocks.push_back(block);
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    const double seconds = share_of_time(bench, static_cast<int>(blocks.size() - at));
    if (seconds <= 0) return report.cut_short(blocks[at]);
    Size size = make_size(bench, blocks[at], seconds);
    run_size(bench, size, report);
  }
}

// What is wrong with the options for this collective; empty: nothing.
std::string complaint(const Bench& bench) {
  const Collective& collective = bench.collective;
  const Options& options = bench.options;
  const std::string about_peers = complaint(options);
  if (!about_peers.empty() || options.empty_percent == 0) return about_peers;
  if (!collective.has_empty_blocks) return std::string("all blocks of ") + collective.name + " are equally long: no --empty-percent";
  const bool same = collective.same_as != nullptr &&
                    std::find(options.contenders.begin(), options.contenders.end(), collective.same_as) != options.contenders.end();
  return same ? std::string(collective.same_as) + " makes the same exchange only where no block is empty" : "";
}

// A rank that waits for ever would hold the launcher for ever.
void limit_life(double most_seconds) {
  if (most_seconds > 0) alarm(static_cast<unsigned>(3 * most_seconds) + 60);
}

}  // namespace

int run(const Collective& collective, int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Bench bench{collective, read_options(argc, argv), 0, 1, now(), {}};
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  limit_life(bench.options.most_seconds);
  const std::string wrong = complaint(bench);
  if (!wrong.empty() && bench.rank == 0) std::fprintf(stderr, "bench: %s\n", wrong.c_str());
  if (!wrong.empty() || !make_contenders(bench)) {
    MPI_Finalize();
    return 2;
  }
  Report report(collective.name, bench.options, bench.rank);
  run_sizes(bench, report);
  const bool right = report.finish();
  for (Contender& contender : bench.contenders) MPI_Comm_free(&contender.comm);
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace bench
