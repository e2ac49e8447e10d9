// Times NCCL's calls as programs make them, with NCCL alone and with crossrail's shim before it, in turns of the same run. Both have the same data, and
// what they give is compared. No MPI is needed: the program starts its ranks itself, one for each GPU.
//
//   nccl_calls SHIM NCCL [--ranks N] [--turns N] [--only NAME] [--from BYTES] [--to BYTES]
//
// It prints a line of JSON for each collective and size: the bytes of a block (of the whole vector for all_reduce), and for each library the time of a
// call in microseconds, as medians over turns on the slowest rank: `row`, 20 calls one after the other until the stream is done; `graph`, the same
// calls in a graph that is replayed; `host`, how long a call takes until it returns. Sums of floats are compared where there are two ranks, as more may
// be added in another order.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "nccl_calls.h"

namespace {

using namespace nccl_calls;

double now() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> row, host, graph;
};

class Bench {
 public:
  Bench(const Options& options, Library (&libraries)[kContenders]) : options_(options), libraries_(libraries) {
    const std::size_t most = 2 * options.to * static_cast<std::size_t>(ranks);
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaMalloc(reinterpret_cast<void**>(&at_.send), most), "cudaMalloc");
    for (int one = 0; one < kContenders; ++one) require(cudaMalloc(reinterpret_cast<void**>(&recv_[one]), most), "cudaMalloc");
    std::vector<int> filled(most / sizeof(int));
    unsigned state = 1u + static_cast<unsigned>(rank);
    for (int& value : filled) value = static_cast<int>(((state = state * 1664525u + 1013904223u) & 0x1fff1fffu) | 0x20002000u);  // No infinities, no NaN, nothing denormal.
    require(cudaMemcpy(at_.send, filled.data(), most, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  void measure(const Collective& collective, std::size_t bytes) {
    at_.count = bytes / sizeof(int);
    Times times[kContenders];
    cudaGraphExec_t graphs[kContenders];
    const bool right = compare(collective);
    for (int one = 0; one < kContenders; ++one) graphs[one] = capture(collective, one);
    for (int turn = 0; turn < options_.turns; ++turn) {
      for (int one = 0; one < kContenders; ++one) {
        row(collective, one, times[one]);
        replay(graphs[one], times[one]);
      }
    }
    if (rank == 0) print(collective.name, bytes, times, right);
    for (cudaGraphExec_t graph : graphs) require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  }

 private:
  void call(const Collective& collective, int one) {
    at_.recv = recv_[one];
    collective.call(libraries_[one], at_, stream_);
  }
  void wait() { require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  bool compare(const Collective& collective) {
    const std::size_t most = 2 * at_.count * static_cast<std::size_t>(ranks);
    std::vector<int> got[kContenders];
    for (int one = 0; one < kContenders; ++one) {
      require(cudaMemsetAsync(recv_[one], 0xEE, most * sizeof(int), stream_), "cudaMemsetAsync");
      for (int again = 0; again < 3; ++again) call(collective, one);
      wait();
      got[one].resize(most);
      require(cudaMemcpy(got[one].data(), recv_[one], most * sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    const bool right = got[0] == got[1] || (collective.of_floats && ranks > 2);
    if (!right) std::fprintf(stderr, "rank %d: WRONG: %s of %zu elements\n", rank, collective.name, at_.count);
    return slowest(right ? 0 : 1) == 0;
  }

  cudaGraphExec_t capture(const Collective& collective, int one) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < kCalls; ++i) call(collective, one);
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    for (int i = 0; i < 2; ++i) require(cudaGraphLaunch(ready, stream_), "cudaGraphLaunch");
    wait();
    return ready;
  }

  void row(const Collective& collective, int one, Times& times) {
    barrier();
    const double began = now();
    for (int i = 0; i < kCalls; ++i) call(collective, one);
    const double returned = now();
    wait();
    times.row.push_back(slowest((now() - began) / kCalls));
    times.host.push_back(slowest((returned - began) / kCalls));
  }

  void replay(cudaGraphExec_t graph, Times& times) {
    constexpr int kReplays = 3;
    barrier();
    require(cudaGraphLaunch(graph, stream_), "cudaGraphLaunch");
    wait();
    barrier();
    const double began = now();
    for (int i = 0; i < kReplays; ++i) require(cudaGraphLaunch(graph, stream_), "cudaGraphLaunch");
    wait();
    times.graph.push_back(slowest((now() - began) / (kCalls * kReplays)));
  }

  static void print(const char* name, std::size_t bytes, const Times (&times)[kContenders], bool right) {
    std::printf("{\"call\": \"%s\", \"bytes\": %zu, \"right\": %s", name, bytes, right ? "true" : "false");
    for (int one = 0; one < kContenders; ++one) {
      std::printf(", \"%s\": {\"row\": %.2f, \"graph\": %.2f, \"host\": %.2f}", kNames[one], median(times[one].row), median(times[one].graph), median(times[one].host));
    }
    std::printf(", \"gain_row\": %.2f, \"gain_graph\": %.2f}\n", median(times[0].row) / median(times[1].row), median(times[0].graph) / median(times[1].graph));
    std::fflush(stdout);
  }

  const Options& options_;
  Library (&libraries_)[kContenders];
  cudaStream_t stream_ = nullptr;
  Buffers at_{};
  int* recv_[kContenders] = {};
};

void run_rank(const Options& options) {
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  require(cudaSetDevice(rank % devices), "cudaSetDevice");
  Library libraries[kContenders];
  for (int one = 0; one < kContenders; ++one) {
    libraries[one] = load(options.libraries[one]);
    if (rank == 0) require(libraries[one].make_id(&shared->ids[one]), "ncclGetUniqueId");
    barrier();
    const double began = now();
    require(libraries[one].init(&libraries[one].comm, ranks, shared->ids[one], rank), "ncclCommInitRank");
    const double took = slowest(now() - began);
    if (rank == 0) std::printf("{\"call\": \"ncclCommInitRank\", \"%s\": %.0f}\n", kNames[one], took);
  }
  Bench bench(options, libraries);
  for (const Collective& collective : kCollectives) {
    if (!options.only.empty() && (',' + options.only + ',').find(',' + std::string(collective.name) + ',') == std::string::npos) continue;
    for (std::size_t bytes = options.from; bytes <= options.to; bytes *= 4) bench.measure(collective, bytes);
  }
  std::fflush(stdout);
  std::_Exit(0);
}

int read_options(int argc, char** argv, Options& options) {
  if (argc < 3) return 2;
  options.libraries[0] = argv[2];
  options.libraries[1] = argv[1];
  for (int at = 3; at + 1 < argc; at += 2) {
    const std::string name = argv[at];
    if (name == "--ranks") options.ranks = std::atoi(argv[at + 1]);
    else if (name == "--turns") options.turns = std::atoi(argv[at + 1]);
    else if (name == "--only") options.only = argv[at + 1];
    else if (name == "--from") options.from = std::strtoull(argv[at + 1], nullptr, 0);
    else if (name == "--to") options.to = std::strtoull(argv[at + 1], nullptr, 0);
    else return 2;
  }
  return argc % 2 == 1 ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (read_options(argc, argv, options) != 0) {
    std::fprintf(stderr, "nccl_calls SHIM NCCL [--ranks N] [--turns N] [--only NAME,...] [--from BYTES] [--to BYTES]\n");
    return 2;
  }
  ranks = options.ranks > 0 ? options.ranks : 2;
  if (ranks > kMostRanks) return 2;
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return 1;
  std::vector<pid_t> children;
  for (rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) run_rank(options);
    children.push_back(child);
  }
  int failed = 0, status = 0;
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    (void)waitpid(-1, &status, 0);
    failed |= status;
    if (status == 0) continue;
    for (const pid_t other : children) (void)kill(other, SIGKILL);
  }
  return failed == 0 ? 0 : 1;
}
