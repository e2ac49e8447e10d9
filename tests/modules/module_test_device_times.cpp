// The device tells when it does pieces of work. These times are compared with when the host has asked for the work and seen it done.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "module_test.h"

namespace module_test {
namespace {

constexpr double kSlackUs = 20;  // It allows for one clock against the other, and for the event behind a flag.

// These times are by the host's clock, in microseconds.
struct Seen {
  double asked, seen, began, ended;
};

bool await_times(Queue& queue, std::uint64_t piece, crossrail_times& times) {
  const double since = now_us();
  int known = 0;
  while ((known = module->times(queue, piece, &times)) == 0 && now_us() - since < 1e6) continue;
  return expect(known == 1, "times: %d, of piece %llu", known, static_cast<unsigned long long>(piece));
}

bool run(Queue& queue, crossrail_exchange exchange, Seen& found) {
  std::uint64_t piece = 0;
  exchange.work.flag = queue.flag();
  exchange.work.value = ++queue.value;
  found.asked = now_us();
  exchange.work.piece = &piece;
  enqueue(queue, exchange, "exchange");
  if (!queue.await(queue.value)) return false;
  found.seen = now_us();
  crossrail_times times{};
  if (!await_times(queue, piece, times)) return false;
  found.began = static_cast<double>(times.began_ns) / 1e3;
  found.ended = static_cast<double>(times.ended_ns) / 1e3;
  return true;
}

// The work runs again and again, over a second and more, in which the clocks drift apart.
bool run_often(Queue& queue, const crossrail_exchange& exchange, const char* what, double least_share) {
  std::vector<double> before, behind, shares;
  for (int again = 0; again < 60; ++again) {
    Seen found{};
    if (!run(queue, exchange, found)) return false;
    if (!expect(found.began <= found.ended, "%s: ended %.1f us before it began", what, found.began - found.ended)) return false;
    before.push_back(found.began - found.asked);
    behind.push_back(found.seen - found.ended);
    shares.push_back((found.ended - found.began) / (found.seen - found.asked));
    usleep(20'000);
  }
  const double least_before = *std::min_element(before.begin(), before.end()), least_behind = *std::min_element(behind.begin(), behind.end());
  std::printf("  %-22s begins %.1f us after it is asked for (%.1f at least), is seen %.1f us after its end (%.1f at least), is %.0f %% of the time\n", what,
              median(before), least_before, median(behind), least_behind, 100 * median(shares));
  expect(least_before > -kSlackUs && least_behind > -kSlackUs, "%s: not between asked for and seen", what);
  return expect(median(shares) > least_share, "%s: only %.0f %% of the time", what, 100 * median(shares));
}

void run_kinds(Queue& queue) {
  constexpr std::size_t kLarge = 256 << 20, kSmall = 4096;
  Memory from(0, kLarge), home(0, kLarge), away(far_device(), kLarge);
  const crossrail_block small{away.at, from.at, kSmall}, large{home.at, from.at, kLarge};
  const crossrail_block both[] = {{home.at, from.at, kLarge}, {away.at, from.at, kSmall}};
  std::vector<crossrail_block> many;  // These take several launches.
  for (std::size_t i = 0; i < 256; ++i) many.push_back({home.at + i * (1 << 20), from.at + i * (1 << 20), 1 << 20});
  const auto of = [](const crossrail_block* blocks, std::size_t count, crossrail_engine engine) {
    return crossrail_exchange{work_of(CROSSRAIL_WORK_EXCHANGE), blocks, static_cast<int>(count), engine, 0};
  };
  constexpr double kMostOfIt = 0.7;
  run_often(queue, of(&small, 1, CROSSRAIL_ENGINE_KERNEL), "a small kernel", 0);
  run_often(queue, of(&large, 1, CROSSRAIL_ENGINE_KERNEL), "a long kernel", kMostOfIt);
  run_often(queue, of(many.data(), many.size(), CROSSRAIL_ENGINE_KERNEL), "several kernels", kMostOfIt);
  run_often(queue, of(&small, 1, CROSSRAIL_ENGINE_COPY), "a small copy", 0);
  run_often(queue, of(both, 2, CROSSRAIL_ENGINE_COPY), "copies on two streams", kMostOfIt);
}

// What the program captures meanwhile is not harmed.
void run_while_capturing(Queue& queue) {
  Memory from(0, 4096), to(0, 4096);
  const crossrail_block block{to.at, from.at, 4096};
  cudaStream_t stream{};
  cudaGraph_t graph{};
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  usleep(300'000);  // This makes the clocks be compared anew.
  Seen found{};
  (void)run(queue, {work_of(CROSSRAIL_WORK_EXCHANGE), &block, 1, CROSSRAIL_ENGINE_KERNEL, 0}, found);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  expect(ended == cudaSuccess, "a capture has been spoilt: %s", cudaGetErrorString(ended));
  (void)cudaGetLastError();
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(stream);
}

}  // namespace

void test_device_times() {
  if (!expect(module->times != nullptr, "the module knows no times")) return;
  Queue queue(0, true);
  run_kinds(queue);
  run_while_capturing(queue);
  Queue other(0);  // This queue has no times, after those that have.
  crossrail_times none{};
  expect(module->times(other, 1, &none) == -1, "times of no work");
}

}  // namespace module_test
