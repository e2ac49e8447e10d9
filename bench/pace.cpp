#include "pace.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace bench {
namespace {

constexpr int kMostRepetitions = 1000;
constexpr int kMostCalls = 200;
constexpr int kMostCallsAProbe = 5;
constexpr std::size_t kFewestProbes = 2, kMostProbes = 7;
constexpr double kPartForProbes = 0.25;  // The probes may take this part of the time.
constexpr double kTooLate = 2;           // The turns end at this multiple of the time.

// If the number of values is even, it takes the lower of the two in the middle; of two probes, that is the undisturbed one.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int calls_in(const Effort& effort, double seconds, int most) { return static_cast<int>(std::clamp(effort.batch_seconds / seconds, 1.0, 1.0 * most)); }

// Draws a new order for every second round; the round after it uses the same order
// backwards. So every contender comes before each other one as often as after it.
class Orders {
 public:
  explicit Orders(std::size_t contenders) : order_(contenders) { std::iota(order_.begin(), order_.end(), 0); }
  const std::vector<std::size_t>& next() {
    if (backwards_) std::reverse(order_.begin(), order_.end());
    else std::shuffle(order_.begin(), order_.end(), draw_);
    backwards_ = !backwards_;
    return order_;
  }

 private:
  std::vector<std::size_t> order_;
  std::mt19937 draw_{1};  // It is the same on all ranks.
  bool backwards_ = false;
};

// Returns whether there were enough rounds, which took the given times and `spent` together. The shortest of them shows how long a round takes if
// nothing disturbs it.
bool are_enough(const std::vector<double>& rounds, double spent, const Effort& effort) {
  const auto done = static_cast<int>(rounds.size());
  if (effort.repetitions > 0) return done >= effort.repetitions;
  if (done < effort.fewest_slow) return false;
  if (done < effort.fewest && effort.fewest * *std::min_element(rounds.begin(), rounds.end()) <= effort.seconds) return false;
  return done >= kMostRepetitions || (done + 1) * median(rounds) > effort.seconds || spent > kTooLate * effort.seconds;
}

}  // namespace

std::vector<Pace> find_paces(const Contest& contest, const Effort& effort) {
  std::vector<std::vector<double>> probes(contest.contenders);
  std::vector<double> least(contest.contenders, std::numeric_limits<double>::infinity());
  const double began = contest.clock();
  for (std::size_t round = 0; round < kMostProbes; ++round) {
    if (round >= kFewestProbes && contest.clock() - began > kPartForProbes * effort.seconds) break;
    for (std::size_t one = 0; one < contest.contenders; ++one) {
      probes[one].push_back(contest.probe(one, calls_in(effort, least[one], kMostCallsAProbe)));
      least[one] = std::min(least[one], probes[one].back());
    }
  }
  std::vector<Pace> paces;
  for (const std::vector<double>& its : probes) paces.push_back({calls_in(effort, median(its), kMostCalls), median(its)});
  return paces;
}

int take_turns(const Contest& contest, const Effort& effort, const std::vector<Pace>& paces) {
  Orders orders(contest.contenders);
  std::vector<double> rounds;
  const double began = contest.clock();
  for (double now = began; !are_enough(rounds, now - began, effort);) {
    for (const std::size_t one : orders.next()) contest.repeat(one, paces[one].calls);
    const double ended = contest.clock();
    rounds.push_back(ended - now);
    now = ended;
  }
  return static_cast<int>(rounds.size());
}

}  // namespace bench
