// Two ranks have queues of their own, on two devices where there are two, and send each other messages.

#include <cstdio>
#include <cstring>
#include <memory>

#include "module_test_mapped.h"

namespace module_test {
namespace {

constexpr int kEnds = 2;
constexpr std::size_t kMostBytesOfMessages = std::size_t{24} << 20;  // It is more than there is room for in a receive buffer.

struct RankPair {
  RankPair() {
    for (int i = 0; i < kEnds; ++i) {
      const int device = devices > 1 ? i : 0;
      queues[i] = std::make_unique<Queue>(device);
      crossrail_messages asked{};
      asked.work = work_of(CROSSRAIL_WORK_MESSAGES);
      asked.ranks = kEnds;
      supported = module->supports(*queues[i], &asked.work, &buffer_bytes) == nullptr;
      if (!supported) return;
      const crossrail_memory near = facts_of(queues[i]->near.at, 1);
      require(module->alloc(&near, buffer_bytes, &buffers[i]), "alloc");
      let_all_devices_reach(buffers[i], device);
      sent[i] = std::make_unique<Memory>(device, 2 * kMostBytesOfMessages);
      received[i] = std::make_unique<Memory>(device, 2 * kMostBytesOfMessages);
      require(cudaSetDevice(device), "cudaSetDevice");
      require(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "stream");
      if (devices > 1 && cudaDeviceEnablePeerAccess(1 - device, 0) != cudaSuccess) (void)cudaGetLastError();  // It may be so already.
    }
    require(cudaSetDevice(0), "cudaSetDevice");
  }
  ~RankPair() {
    for (int i = 0; i < kEnds && supported; ++i) {
      (void)cudaStreamDestroy(streams[i]);
      queues[i].reset();
      require(module->free(buffers[i]), "free");
    }
  }
  void fill(unsigned seed) {
    for (int i = 0; i < kEnds; ++i) {
      images[i] = pattern(sent[i]->bytes, seed + static_cast<unsigned>(i));
      expected[i].assign(received[i]->bytes, kPoison);
      sent[i]->fill(images[i]);
      received[i]->fill(kPoison);
      used[i] = taken[i] = 0;
    }
  }
  // It is asked for at both ends, and enqueued later.
  void message(int from, int to, std::size_t bytes, unsigned shift) {
    const std::size_t source = used[from] + shift, target = taken[to] + 3 * shift;
    sends[from].push_back({sent[from]->at + source, bytes, to});
    recvs[to].push_back({received[to]->at + target, bytes, from});
    std::memcpy(expected[to].data() + target, images[from].data() + source, bytes);
    used[from] = (source + bytes + 15) / 16 * 16;
    taken[to] = (target + bytes + 31) / 16 * 16;
  }
  void enqueue_for(int rank) {
    crossrail_messages asked{work_of(CROSSRAIL_WORK_MESSAGES, nullptr, 0, streams[rank]), rank, kEnds, buffers, buffer_bytes, queues[rank]->flag(1),
                             sends[rank].data(), recvs[rank].data(), static_cast<int>(sends[rank].size()), static_cast<int>(recvs[rank].size())};
    enqueue(*queues[rank], asked, "messages");
    sends[rank].clear();
    recvs[rank].clear();
  }
  void finish(const char* what) {
    for (int rank = 0; rank < kEnds; ++rank) {
      if (!sends[rank].empty() || !recvs[rank].empty()) enqueue_for(rank);
    }
    for (const cudaStream_t stream : streams) require(cudaStreamSynchronize(stream), "synchronise");
    for (int rank = 0; rank < kEnds; ++rank) expect(received[rank]->read() == expected[rank], "%s: rank %d", what, rank);
  }

  bool supported = false;
  std::unique_ptr<Queue> queues[kEnds];
  std::unique_ptr<Memory> sent[kEnds], received[kEnds];
  Bytes images[kEnds], expected[kEnds];
  std::size_t used[kEnds] = {}, taken[kEnds] = {};
  std::vector<crossrail_message> sends[kEnds], recvs[kEnds];
  cudaStream_t streams[kEnds] = {};
  void* buffers[kEnds] = {};
  std::size_t buffer_bytes = 0;
};

void all_lengths(RankPair& pair) {
  pair.fill(1);
  for (const std::size_t bytes : {1, 15, 16, 17, 119, 120, 240, 1919, 1920, 1921, 4096, 65536, 100001}) {
    for (const unsigned shift : {0u, 1u, 2u, 4u, 8u}) {
      for (const int from : {0, 1}) pair.message(from, bytes % 3 == 0 ? from : 1 - from, bytes, shift);
      for (int rank = 0; rank < kEnds; ++rank) pair.enqueue_for(rank);
    }
  }
  pair.finish("messages one after the other");
}

// Rank 0 is done before the other one comes.
void ahead(RankPair& pair) {
  pair.fill(2);
  for (int i = 0; i < 100; ++i) {
    pair.message(0, 1, 1000 + 77 * static_cast<std::size_t>(i), 0);
    pair.enqueue_for(0);
  }
  require(cudaStreamSynchronize(pair.streams[0]), "synchronise");
  pair.finish("messages ahead");
}

void long_lists(RankPair& pair) {
  pair.fill(3);
  for (std::size_t i = 0; i < 700; ++i) {
    for (const int from : {0, 1}) pair.message(from, i % 5 == 0 ? from : 1 - from, i * 37 % 6000, static_cast<unsigned>(i) % 4);
  }
  pair.finish("messages of a long list");
}

// What is captured is sent anew each time.
void captured(RankPair& pair) {
  cudaGraphExec_t executables[kEnds];
  pair.fill(4);
  for (std::size_t i = 0; i < 100; ++i) {
    for (const int from : {0, 1}) pair.message(from, 1 - from, i * 401 % 9000, 0);
  }
  for (int rank = 0; rank < kEnds; ++rank) {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(pair.streams[rank], cudaStreamCaptureModeThreadLocal), "begin capture");
    pair.enqueue_for(rank);
    require(cudaStreamEndCapture(pair.streams[rank], &graph), "end capture");
    require(cudaGraphInstantiate(&executables[rank], graph, 0), "instantiate");
    require(cudaGraphDestroy(graph), "destroy");
  }
  for (int again = 0; again < 5; ++again) {
    for (int rank = 0; rank < kEnds; ++rank) pair.received[rank]->fill(kPoison);
    for (int rank = 0; rank < kEnds; ++rank) require(cudaGraphLaunch(executables[rank], pair.streams[rank]), "graph launch");
    pair.finish("captured messages");
  }
  for (const cudaGraphExec_t executable : executables) require(cudaGraphExecDestroy(executable), "destroy");
}

void long_ones(RankPair& pair) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    pair.fill(10 + seed);
    for (const int from : {0, 1}) pair.message(from, 1 - from, kMostBytesOfMessages - 5 * seed, seed);
    const double began = now_us();
    for (int rank = 0; rank < kEnds; ++rank) pair.enqueue_for(rank);
    for (const cudaStream_t stream : pair.streams) require(cudaStreamSynchronize(stream), "synchronise");
    const double took = now_us() - began;
    pair.finish("long messages both ways");
    std::printf("messages of %zu bytes both ways: %.0f us, %.0f GB/s each\n", kMostBytesOfMessages - 5 * seed, took, static_cast<double>(kMostBytesOfMessages) / took / 1e3);
  }
}

// A rank whose peer never comes is called back.
void alone() {
  RankPair pair;
  pair.fill(5);
  pair.message(1, 0, 100, 0);
  pair.enqueue_for(0);
  const double began = now_us();
  while (now_us() - began < 20000) {
  }
  expect(cudaStreamQuery(pair.streams[0]) == cudaErrorNotReady, "a message does not wait for the peer");
  __atomic_store_n(pair.queues[0]->flag(1), 1, __ATOMIC_RELEASE);
  require(cudaStreamSynchronize(pair.streams[0]), "synchronise");
}

}  // namespace

void test_messages() {
  {
    RankPair pair;
    if (!pair.supported) {
      std::printf("messages are not supported here\n");
      return;
    }
    all_lengths(pair);
    ahead(pair);
    long_lists(pair);
    captured(pair);
    long_ones(pair);
  }
  alone();
}

}  // namespace module_test
