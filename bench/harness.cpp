#include "harness.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <numeric>
#include <random>

#include "device_memory.h"
#include "peer.h"
#include "report.h"
#include "turn.h"

namespace bench {
namespace {

std::string last_algorithm() {
  using Last = const char* (*)();
  const auto last = reinterpret_cast<Last>(dlsym(RTLD_DEFAULT, "crossrail_last_algorithm"));
  return last == nullptr ? "native" : last();
}

std::string algorithm_of(const Contender& contender) {
  if (contender.native()) return "native";
  if (!contender.is_peer()) return last_algorithm();
  return contender.peer.version == nullptr ? "peer" : contender.peer.version();
}

void run_size(const Bench& bench, Size& size, Report& report) {
  std::vector<Pace> paces;
  std::vector<Row> rows;
  int repetitions = 0;
  for (const Contender& contender : bench.contenders) {
    Row row{size.exchange.block, contender.name, "", {}, 0, 0, 0, !contender.peer.unchecked};
    row.wrong = checked_call(bench, contender, size);
    row.algorithm = algorithm_of(contender);
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

// The lowest rank that says no; the number of ranks where none does.
int first_without(bool mine, const Bench& bench) {
  int first = mine ? bench.ranks : bench.rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return first;
}

bool everywhere(bool mine, const Bench& bench) { return first_without(mine, bench) == bench.ranks; }

// The first call, which is where crossrail and peers look at a communicator. False where a peer cannot work.
bool first_call_works(const Bench& bench, const Contender& contender) {
  Size size = make_size(bench, 1, 0);
  const Buffers& buffers = buffers_of(bench, contender, size);
  if (!everywhere(buffers.complete(), bench)) return false;
  const int code = bench.collective.call(buffers.send(0), buffers.recv(0), size.exchange, contender);
  return everywhere(code == MPI_SUCCESS, bench);
}

// Communicator and first call of a contender.
void admit(Bench& bench, Set set, Contender contender) {
  MPI_Comm_dup(MPI_COMM_WORLD, &contender.comm);
  if (contender.crossrails()) tell_crossrail(bench, set, contender.name);
  if (contender.native() || first_call_works(bench, contender)) {
    bench.contenders.push_back(std::move(contender));
    return;
  }
  // The communicator stays: the peer may know it by its handle, which another one would get.
  if (bench.rank == 0) std::fprintf(stderr, "bench: '%s' does not work here and is left out\n", contender.name.c_str());
}

bool make_contenders(Bench& bench) {
  const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  std::vector<Contender> all;
  for (const std::string& name : bench.options.contenders) {
    all.push_back({name, MPI_COMM_NULL, {}});
    if (all.back().native() || set != nullptr) continue;
    if (bench.rank == 0) std::fprintf(stderr, "bench: crossrail is not preloaded: only 'native' and peers can run\n");
    return false;
  }
  for (const Peer& peer : bench.options.peers) {
    all.push_back({peer.name, MPI_COMM_NULL, load_peer(peer)});
    if (!all.back().is_peer()) return false;
  }
  for (const Contender& contender : all) admit(bench, set, contender);
  return !bench.contenders.empty();
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
  const std::vector<std::size_t> blocks = blocks_of(bench.options);
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

// Every rank takes a device where device memory is asked for; says who has none.
bool has_memory(const Bench& bench) {
  if (bench.options.memory == Memory::host) return true;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, bench.rank, MPI_INFO_NULL, &node);
  int local_rank = 0;
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_free(&node);
  const std::string problem = device::open(local_rank);
  const int first = first_without(problem.empty(), bench);
  if (first == bench.rank) std::fprintf(stderr, "bench: %s\n", problem.c_str());
  return first == bench.ranks;
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
  if (!wrong.empty() || !has_memory(bench) || !make_contenders(bench)) {
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
