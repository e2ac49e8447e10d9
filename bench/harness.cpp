#include "harness.h"

#include <dlfcn.h>
#include <getopt.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <thread>

#include "report.h"

namespace bench {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr int kPoison = 0xA5;
constexpr double kBatchSeconds = 200e-6;

struct BufferSet {
  std::unique_ptr<std::byte[]> send;
  std::unique_ptr<std::byte[]> recv;
};

struct Bench {
  const Collective& collective;
  Options options;
  int rank, ranks;
  std::vector<Contender> contenders;
};

double now() { return MPI_Wtime(); }

std::vector<BufferSet> make_buffers(const Bench& bench, std::size_t block) {
  std::vector<BufferSet> sets(bench.options.buffers);
  const std::size_t bytes = bench.collective.bytes(block, bench.ranks);
  for (BufferSet& set : sets) {
    set.send = std::make_unique<std::byte[]>(bytes + kGuardBytes);
    set.recv = std::make_unique<std::byte[]>(bytes + kGuardBytes);
  }
  return sets;
}

// Fresh data, poisoned receive buffer, guard zone: how many blocks came out wrong, over all ranks.
std::uint64_t checked_call(const Bench& bench, const Contender& contender, std::size_t block, BufferSet& set) {
  static std::uint64_t seed = 1;
  const std::size_t bytes = bench.collective.bytes(block, bench.ranks);
  ++seed;
  bench.collective.fill(set.send.get(), block, bench.rank, bench.ranks, seed);
  std::memset(set.recv.get(), kPoison, bytes + kGuardBytes);
  bench.collective.call(set.send.get(), set.recv.get(), block, contender);
  std::uint64_t wrong = bench.collective.check(set.recv.get(), block, bench.rank, bench.ranks, seed);
  for (std::size_t i = 0; i < kGuardBytes; ++i) wrong += set.recv[bytes + i] != std::byte{kPoison};
  std::uint64_t all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// Seconds of `calls` calls in a row, on this rank; one call before them undoes what the contender
// before has done to the caches.
double batch(const Bench& bench, const Contender& contender, std::size_t block, std::vector<BufferSet>& sets, int calls) {
  bench.collective.call(sets[0].send.get(), sets[0].recv.get(), block, contender);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = now();
  for (int call = 0; call < calls; ++call) {
    BufferSet& set = sets[call % sets.size()];
    bench.collective.call(set.send.get(), set.recv.get(), block, contender);
  }
  return now() - began;
}

struct Pace {
  int calls;        // in a batch
  int repetitions;  // batches
};

// From one timed batch: how many calls make a batch worth timing, and how many batches there is time for.
Pace find_pace(const Bench& bench, const Contender& contender, std::size_t block, std::vector<BufferSet>& sets) {
  batch(bench, contender, block, sets, 3);
  double seconds = batch(bench, contender, block, sets, 5) / 5;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  Pace pace;
  pace.calls = std::clamp(static_cast<int>(kBatchSeconds / seconds), 1, 200);
  pace.repetitions = bench.options.repetitions > 0
                         ? bench.options.repetitions
                         : std::clamp(static_cast<int>(bench.options.seconds_a_size / (seconds * pace.calls)), 5, 1000);
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

void run_size(Bench& bench, std::size_t block, Report& report) {
  auto sets = make_buffers(bench, block);
  std::vector<Pace> paces;
  std::vector<Row> rows;
  int repetitions = 0;
  for (const Contender& contender : bench.contenders) {
    Row row{block, contender.name, "native", {}, 0, 0, 0};
    row.wrong = checked_call(bench, contender, block, sets[0]);
    if (!contender.native()) row.algorithm = last_algorithm();
    paces.push_back(find_pace(bench, contender, block, sets));
    repetitions = std::max(repetitions, paces.back().repetitions);
    rows.push_back(row);
  }
  std::vector<std::vector<double>> seconds(rows.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t turn = 0; turn < rows.size(); ++turn) {
      // The order rotates: nobody always comes after the same other.
      const std::size_t one = (turn + static_cast<std::size_t>(repetition)) % rows.size();
      if (repetition >= paces[one].repetitions) continue;
      const int calls = paces[one].calls;
      seconds[one].push_back(batch(bench, bench.contenders[one], block, sets, calls) / calls);
    }
  }
  for (std::size_t one = 0; one < rows.size(); ++one) {
    rows[one].times = statistics_of(seconds[one]);
    rows[one].repetitions = paces[one].repetitions;
    rows[one].bandwidth = bench.collective.bandwidth(block, bench.ranks, rows[one].times.p50_us * 1e-6);
    rows[one].wrong += checked_call(bench, bench.contenders[one], block, sets[0]);
    report.add(rows[one]);
  }
}

// A communicator a contender. crossrail_set (in the preloaded library) makes the algorithm that of
// the communicators whose first call comes next.
bool make_contenders(Bench& bench) {
  using Set = int (*)(const char*, const char*);
  const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  std::byte send[64 * 1024] = {}, recv[64 * 1024] = {};
  for (const std::string& name : bench.options.contenders) {
    Contender contender{name, MPI_COMM_NULL};
    if (!contender.native() && set == nullptr) {
      if (bench.rank == 0) std::fprintf(stderr, "bench: crossrail is not preloaded: only 'native' can run\n");
      return false;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &contender.comm);
    if (!contender.native()) {
      const std::string wanted = name == "auto" ? "" : name == "passed" ? "native" : name;
      set("CROSSRAIL_ALLTOALL", wanted.c_str());
      if (static_cast<std::size_t>(bench.ranks) <= sizeof send) bench.collective.call(send, recv, 1, contender);
    }
    bench.contenders.push_back(contender);
  }
  return true;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  static const option longs[] = {{"min-bytes", 1, nullptr, 'm'},  {"max-bytes", 1, nullptr, 'M'},
                                 {"algorithms", 1, nullptr, 'a'}, {"repetitions", 1, nullptr, 'r'},
                                 {"seconds", 1, nullptr, 's'},    {"buffers", 1, nullptr, 'b'},
                                 {"output", 1, nullptr, 'o'},     {nullptr, 0, nullptr, 0}};
  for (int got; (got = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
    switch (got) {
      case 'm': options.min_bytes = std::strtoull(optarg, nullptr, 10); break;
      case 'M': options.max_bytes = std::strtoull(optarg, nullptr, 10); break;
      case 'r': options.repetitions = std::atoi(optarg); break;
      case 's': options.seconds_a_size = std::atof(optarg); break;
      case 'b': options.buffers = std::max(1, std::atoi(optarg)); break;
      case 'o': options.output = optarg; break;
      case 'a': {
        options.contenders.clear();
        std::stringstream names(optarg);
        for (std::string name; std::getline(names, name, ',');) options.contenders.push_back(name);
        break;
      }
      default: MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  return options;
}

int run(const Collective& collective, int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Bench bench{collective, read_options(argc, argv), 0, 1, {}};
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  if (!make_contenders(bench)) {
    MPI_Finalize();
    return 2;
  }
  Report report(collective.name, bench.options, bench.rank);
  for (std::size_t block = std::max<std::size_t>(1, bench.options.min_bytes); block <= bench.options.max_bytes; block *= 2) {
    run_size(bench, block, report);
  }
  const bool right = report.finish();
  for (Contender& contender : bench.contenders) MPI_Comm_free(&contender.comm);
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace bench
