#include "overlap.h"

#include <algorithm>

#include "beside.h"
#include "turn.h"

namespace bench {
namespace {

// It prevents the compiler from optimizing the work away.
volatile std::uint64_t sink;

void work(std::uint64_t units) {
  std::uint64_t word = units | 1;
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
  }
  sink = word;
}

// It uses the shortest of several trials, which contains only the work itself.
double units_a_second() {
  constexpr std::uint64_t kUnits = 50000;
  double best = 1;
  for (int trial = 0; trial < 20; ++trial) {
    const double began = now();
    work(kUnits);
    best = std::min(best, now() - began);
  }
  return static_cast<double>(kUnits) / best;
}

// Returns what one reading of the clock costs.
double clock_seconds() {
  constexpr int kReadings = 100;
  double best = 1;
  for (int trial = 0; trial < 20; ++trial) {
    const double began = now();
    double last = began;
    for (int reading = 0; reading < kReadings; ++reading) last = now();
    best = std::min(best, (last - began) / kReadings);
  }
  return best;
}

double clock_cost() {
  static const double cost = clock_seconds();
  return cost;
}

// Subtracts the cost of the `readings` readings from the measured time; the result is at least 0.
double without_clock(double seconds, int readings) { return std::max(0.0, seconds - readings * clock_cost()); }

double pure_seconds(Calls& calls, int count) {
  const double began = now();
  for (int done = 0; done < count; ++done) calls.run(done);
  return (now() - began) / count;
}

double blocking_seconds(Calls& calls, int count) {
  const double began = now();
  for (int done = 0; done < count; ++done) calls.run_blocking(done);
  return (now() - began) / count;
}

void time_parts(Calls& calls, int count, Sample& sample) {
  double starting = 0, waiting = 0;
  for (int done = 0; done < count; ++done) {
    const double began = now();
    calls.start(done);
    const double between = now();
    calls.wait();
    starting += between - began;
    waiting += now() - between;
  }
  sample[kStart] = without_clock(starting / count, 1);
  sample[kWait] = without_clock(waiting / count, 1);
}

// Returns the seconds of the work alone.
double compute(Calls& calls, const Work& between) {
  double computing = 0, from = now();
  for (int piece = 0;; ++piece) {
    work(between.units / (between.tests + 1));
    computing += now() - from;
    if (piece == between.tests) return computing;
    calls.test();
    from = now();
  }
}

void time_overlapped(Calls& calls, int count, const Work& between, Sample& sample) {
  double computing = 0;
  const double began = now();
  for (int done = 0; done < count; ++done) {
    calls.start(done);
    computing += compute(calls, between);
    calls.wait();
  }
  const int pieces = between.tests + 1;
  sample[kTotal] = without_clock((now() - began) / count, 2 * pieces);
  sample[kCompute] = without_clock(computing / count, pieces);
  sample[kExposed] = std::max(0.0, sample[kTotal] - sample[kCompute]);
}

// A call before the timed ones undoes what the contender before has done to the caches, and makes the ranks begin together.
void line_up(Calls& calls) {
  calls.run(0);
  MPI_Barrier(MPI_COMM_WORLD);
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

}  // namespace

Work make_work(double seconds, int tests) {
  static const double rate = units_a_second();
  return {static_cast<std::uint64_t>(seconds * rate) + 1, tests, seconds};
}

Sample take_sample(Calls& calls, int count, const Work& between) {
  const WorkBeside beside(calls);
  Sample sample{};
  line_up(calls);
  sample[kPure] = pure_seconds(calls, count);
  line_up(calls);
  time_parts(calls, count, sample);
  line_up(calls);
  time_overlapped(calls, count, between, sample);
  line_up(calls);
  sample[kBlocking] = blocking_seconds(calls, count);
  return sample;
}

std::vector<double> part_of(const std::vector<Sample>& samples, Part part) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample[part]);
  return values;
}

Overlap overlap_of(std::vector<Sample> samples) {
  PMPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()) * kParts, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  Overlap overlap{};
  for (int part = 0; part < kParts; ++part) {
    const Spread seconds = spread_of(part_of(samples, static_cast<Part>(part)));
    overlap.us[part] = {1e6 * seconds.p25, 1e6 * seconds.p50, 1e6 * seconds.p75};
  }
  std::vector<double> percent;
  for (const Sample& sample : samples) percent.push_back(std::max(0.0, 100 * (1 - sample[kExposed] / sample[kPure])));
  overlap.percent = spread_of(percent);
  return overlap;
}

}  // namespace bench
