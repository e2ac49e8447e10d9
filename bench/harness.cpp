#include "harness.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <new>

#include "beside.h"
#include "contenders.h"
#include "device_memory.h"
#include "hosts.h"
#include "overlap.h"
#include "pace.h"
#include "report.h"
#include "turn.h"

namespace bench {
namespace {

// A Turn is what a contender does at one size.
struct Turn {
  std::unique_ptr<Calls> calls;
  Work work;
  Row row;
  std::vector<Sample> samples;  // Each repetition has one.
};

bool in_parts(const Bench& bench) { return bench.options.form != Form::blocking; }

Turn begin_turn(const Bench& bench, const Contender& contender, Size& size) {
  Turn turn{};
  turn.row = {size.exchange.block, contender.name, "", {}, 0, 0, 0, !contender.peer.unchecked};
  Buffers& buffers = buffers_of(bench, contender, size);
  if (in_parts(bench)) forget_last_algorithm();
  turn.calls = std::make_unique<Calls>(bench.collective, bench.options, contender, size.exchange, buffers);
  turn.row.wrong = checked_call(bench, *turn.calls);
  turn.row.algorithm = algorithm_of(contender);
  turn.row.wanted = is_wanted(bench, contender, turn.row.algorithm);
  return turn;
}

void repeat(const Bench& bench, Turn& turn, int count) {
  Sample sample{};
  if (in_parts(bench)) {
    sample = take_sample(*turn.calls, count, turn.work);
  } else {
    sample[kPure] = batch(*turn.calls, count) / count;
  }
  turn.samples.push_back(sample);
  // More is known of the call now, so this is a better guess of what the work should take.
  const std::size_t known = turn.samples.size();
  if (in_parts(bench) && (known == 3 || known == 10)) {
    turn.work = make_work(1e-6 * statistics_of(part_of(turn.samples, kPure)).p50_us, bench.options.tests);
  }
}

Row end_turn(const Bench& bench, const Size& size, Turn& turn) {
  Row& row = turn.row;
  row.repetitions = static_cast<int>(turn.samples.size());
  row.times = statistics_of(part_of(turn.samples, kPure));
  if (in_parts(bench)) {
    row.overlap = overlap_of(turn.samples);
    row.overlap->init_us = 1e6 * slowest(turn.calls->init_seconds());
    row.overlap->work_us = 1e6 * turn.work.seconds;
    forget_last_algorithm();
  }
  row.bandwidth = bench.collective.bandwidth(size.exchange, row.times.p50_us * 1e-6);
  const WorkBeside beside(*turn.calls);
  row.wrong += checked_call(bench, *turn.calls);
  // A persistent request may have got its algorithm when it was made.
  const std::string last = algorithm_of(turn.calls->contender());
  if (bench.options.form != Form::persistent) row.wanted = row.wanted && is_wanted(bench, turn.calls->contender(), last);
  return row;
}

// Returns the time of a call on the slowest rank, including everything that
// belongs to a batch, because peers report the time of only a part of theirs.
double probe(Turn& turn, int count) {
  const double began = now();
  batch(*turn.calls, count);
  return slowest((now() - began) / (count + 1));
}

void run_size(const Bench& bench, Size& size, Report& report) {
  std::vector<Turn> turns;
  for (const Contender& contender : bench.contenders) turns.push_back(begin_turn(bench, contender, size));
  const double began = now();
  const Contest contest{turns.size(), [&](std::size_t one, int calls) { return probe(turns[one], calls); },
                        [&](std::size_t one, int calls) { repeat(bench, turns[one], calls); }, [began] { return slowest(now() - began); }};
  const Effort effort{size.seconds * static_cast<double>(turns.size()), bench.options.repetitions};
  const std::vector<Pace> paces = find_paces(contest, effort);
  for (std::size_t one = 0; in_parts(bench) && one < turns.size(); ++one) turns[one].work = make_work(paces[one].seconds, bench.options.tests);
  take_turns(contest, effort, paces);
  for (Turn& turn : turns) report.add(end_turn(bench, size, turn));
}

// Returns the seconds for a contender at the next of `sizes` sizes, the same on every rank, or 0 if no time is left.
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
    try {
      Size size = make_size(bench, blocks[at], seconds);
      run_size(bench, size, report);
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "bench: there is no memory for blocks of %zu bytes on %d ranks\n", blocks[at], bench.ranks);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    report.keep();
  }
}

// Returns MPI's name in lower case without mpi_.
std::string name_of(const Collective& collective, Form form) {
  const std::string name = collective.name;
  return form == Form::persistent ? name + "_init" : form == Form::nonblocking ? "i" + name : name;
}

std::string capitalized(std::string name) {
  name[0] = static_cast<char>(std::toupper(name[0]));
  return name;
}

// Returns what is wrong with the options for this collective, or an empty string.
std::string complaint(const Bench& bench) {
  const Collective& collective = bench.collective;
  const Options& options = bench.options;
  if (options.ranks > 0 && options.ranks != bench.ranks) {
    return "asked for " + std::to_string(options.ranks) + " ranks, the job has " + std::to_string(bench.ranks) +
           ": this launcher belongs to another MPI than the bench program";
  }
  const std::string name = capitalized(name_of(collective, options.form));
  if (options.form == Form::persistent && collective.init == nullptr) return "this MPI has no MPI_" + name + " and no MPIX_" + name;
  if (collective.types != Types::any && options.datatype != kContiguous) return std::string(collective.name) + " has elements of its own: no --datatype";
  if (!collective.in_place && options.in_place) return std::string(collective.name) + " has data that cannot lie in the receive buffers of all ranks: no --in-place";
  const std::string about_options = complaint(options);
  if (!about_options.empty() || (options.empty_percent == 0 && options.counts == Counts::equal)) return about_options;
  if (!collective.lengths_differ) return std::string("all blocks of ") + collective.name + " are equally long: no --empty-percent, no --counts";
  const bool same = collective.same_as != nullptr &&
                    std::find(options.contenders.begin(), options.contenders.end(), collective.same_as) != options.contenders.end();
  return same ? std::string(collective.same_as) + " makes the same exchange only where all blocks are equally long" : "";
}

// Every rank takes a device if device memory is asked for; a rank that has none says so.
bool has_memory(const Bench& bench) {
  if (bench.options.memory == Memory::host) return true;
  std::string problem = device::open(local_rank(first_on_host(), bench.rank));
  if (problem.empty() && bench.options.beside) problem = prepare_beside();
  const int first = first_without(problem.empty(), bench);
  if (first == bench.rank) std::fprintf(stderr, "bench: %s\n", problem.c_str());
  return first == bench.ranks;
}

// A rank that waits for ever would block the launcher for ever.
void limit_life(double most_seconds) {
  if (most_seconds > 0) alarm(static_cast<unsigned>(3 * most_seconds) + 60);
}

}  // namespace

double sent_to_others(const Exchange& exchange, double seconds) {
  return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds;
}

int run(const Collective& collective, int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Bench bench{collective, read_options(argc, argv), 0, 1, now(), {}};
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  if (collective.types == Types::subarrays) bench.options.unit = kComplexBytes;
  limit_life(bench.options.most_seconds);
  const std::string wrong = complaint(bench);
  if (!wrong.empty() && bench.rank == 0) std::fprintf(stderr, "bench: %s\n", wrong.c_str());
  if (!wrong.empty() || !has_memory(bench) || !make_contenders(bench)) {
    MPI_Finalize();
    return 2;
  }
  Report report(name_of(collective, bench.options.form), bench.options, bench.rank);
  run_sizes(bench, report);
  const bool right = report.finish();
  free_contenders(bench);
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace bench
