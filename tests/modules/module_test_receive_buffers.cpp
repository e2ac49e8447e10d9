// Two ranks have queues of their own, on two devices where there are two. The tests cover packets, barriers, and work between barriers.

#include <cstring>
#include <memory>

#include "comm/reduction.h"
#include "module_test_mapped.h"

namespace module_test {
namespace {

constexpr int kRanks = 2;
constexpr std::size_t kMostBlock = 70000;

struct Ranks {
  explicit Ranks(crossrail_packet_form wanted = CROSSRAIL_PACKETS_LL) : form(wanted) {
    for (int i = 0; i < kRanks; ++i) {
      const int device = devices > 1 ? i : 0;
      queues[i] = std::make_unique<Queue>(device);
      buffer_bytes = packets_bytes(*queues[i], form, kRanks, kMostBlock);
      const crossrail_memory near = facts_of(queues[i]->near.at, 1);
      require(module->alloc(&near, buffer_bytes, &buffers[i]), "alloc");
      let_all_devices_reach(buffers[i], device);
      sends[i] = std::make_unique<Memory>(device, kRanks * kMostBlock + 64);
      recvs[i] = std::make_unique<Memory>(device, kRanks * kMostBlock + 64);
      require(cudaSetDevice(device), "cudaSetDevice");
      require(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "stream");
      if (devices > 1 && cudaDeviceEnablePeerAccess(1 - device, 0) != cudaSuccess) (void)cudaGetLastError();  // It may be so already.
    }
    require(cudaSetDevice(0), "cudaSetDevice");
  }
  ~Ranks() {
    for (int i = 0; i < kRanks; ++i) {
      (void)cudaStreamDestroy(streams[i]);
      queues[i].reset();
      require(module->free(buffers[i]), "free");
    }
  }
  crossrail_packets packets(int rank, std::size_t bytes, unsigned shift) {
    return {work_of(CROSSRAIL_WORK_PACKETS, queues[rank]->flag()), sends[rank]->at + shift, recvs[rank]->at + 2 * shift, bytes, bytes, bytes, rank, kRanks,
            buffers, buffer_bytes, queues[rank]->flag(1), form, {}};
  }
  crossrail_barrier barrier(int rank) { return {rank, kRanks, buffers, buffer_bytes, queues[rank]->flag(1)}; }
  void fill(unsigned seed) {
    for (int i = 0; i < kRanks; ++i) {
      images[i] = pattern(sends[i]->bytes, seed + static_cast<unsigned>(i));
      sends[i]->fill(images[i]);
      recvs[i]->fill(kPoison);
    }
  }
  void check(std::size_t bytes, unsigned shift, const char* what) {
    for (int i = 0; i < kRanks; ++i) {
      Bytes expected(recvs[i]->bytes, kPoison);
      for (int peer = 0; peer < kRanks; ++peer) {
        std::memcpy(expected.data() + 2 * shift + peer * bytes, images[peer].data() + shift + i * bytes, bytes);
      }
      expect(recvs[i]->read() == expected, "%s: rank %d, %zu bytes, shift %u", what, i, bytes, shift);
    }
  }
  std::unique_ptr<Queue> queues[kRanks];
  std::unique_ptr<Memory> sends[kRanks], recvs[kRanks];
  Bytes images[kRanks];
  cudaStream_t streams[kRanks] = {};
  void* buffers[kRanks] = {};
  std::size_t buffer_bytes = 0;
  crossrail_packet_form form;
};

void meet(Queue& queue, const crossrail_barrier& barrier, void* stream) {
  crossrail_work work = work_of(CROSSRAIL_WORK_BARRIER, nullptr, 0, stream);
  work.before = &barrier;
  require(module->enqueue(queue, &work), "barrier");
}

bool run_round(Ranks& ranks, std::size_t bytes, unsigned shift) {
  ranks.fill(static_cast<unsigned>(bytes) + shift);
  for (int i = 0; i < kRanks; ++i) {
    crossrail_packets packets = ranks.packets(i, bytes, shift);
    packets.work.value = ++ranks.queues[i]->value;
    enqueue(*ranks.queues[i], packets, "packets");
  }
  bool came = true;
  for (auto& queue : ranks.queues) came = came && queue->await(queue->value);
  if (came) ranks.check(bytes, shift, "packets");
  for (auto& queue : ranks.queues) *queue->flag(1) = came ? 0 : 1;
  return came;
}

// Captures rounds and barriers as a graph of each rank, and plays it again.
void run_captured(Ranks& ranks, std::size_t bytes) {
  cudaGraphExec_t executables[kRanks];
  for (int i = 0; i < kRanks; ++i) {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(ranks.streams[i], cudaStreamCaptureModeThreadLocal), "begin capture");
    crossrail_packets packets = ranks.packets(i, bytes, 0);
    const crossrail_barrier barrier = ranks.barrier(i);
    packets.work.stream = ranks.streams[i];
    packets.work.flag = nullptr;
    meet(*ranks.queues[i], barrier, ranks.streams[i]);
    enqueue(*ranks.queues[i], packets, "packets");
    meet(*ranks.queues[i], barrier, ranks.streams[i]);
    require(cudaStreamEndCapture(ranks.streams[i], &graph), "end capture");
    require(cudaGraphInstantiate(&executables[i], graph, 0), "instantiate");
    require(cudaGraphDestroy(graph), "destroy");
  }
  for (unsigned again = 0; again < 5; ++again) {
    ranks.fill(1000 + again);
    for (int i = 0; i < kRanks; ++i) require(cudaGraphLaunch(executables[i], ranks.streams[i]), "graph launch");
    for (const cudaStream_t stream : ranks.streams) require(cudaStreamSynchronize(stream), "synchronise");
    ranks.check(bytes, 0, "captured packets");
  }
  for (const cudaGraphExec_t executable : executables) require(cudaGraphExecDestroy(executable), "destroy");
}

// All ranks push blocks between barriers, in the order of their streams.
void exchange_between(Ranks& ranks, int rank, std::size_t bytes) {
  const crossrail_barrier barrier = ranks.barrier(rank);
  crossrail_block blocks[kRanks];
  for (int peer = 0; peer < kRanks; ++peer) blocks[peer] = {ranks.recvs[peer]->at + rank * bytes, ranks.sends[rank]->at + peer * bytes, bytes};
  crossrail_exchange asked{work_of(CROSSRAIL_WORK_EXCHANGE, nullptr, 0, ranks.streams[rank]), blocks, kRanks, CROSSRAIL_ENGINE_KERNEL, 0};
  asked.work.before = asked.work.after = &barrier;
  enqueue(*ranks.queues[rank], asked, "exchange between barriers");
}

// Each rank's half of everybody's bytes is combined. With `apart` that is in two pieces of work: to the rank's own, and from there to the other's.
void combine_between(Ranks& ranks, int rank, std::size_t bytes, bool apart) {
  const crossrail_barrier barrier = ranks.barrier(rank);
  const crossrail_reduction bits{static_cast<int>(crossrail::Operation::bitwise_xor), static_cast<int>(crossrail::Element::byte)};
  const std::size_t at = rank * (bytes / 2), share = rank == 0 ? bytes / 2 : bytes - bytes / 2;
  const void* const from[] = {ranks.sends[0]->at + at, ranks.sends[1]->at + at};
  void* const to[] = {ranks.recvs[rank]->at + at, ranks.recvs[1 - rank]->at + at};
  crossrail_combination asked{work_of(CROSSRAIL_WORK_COMBINE, nullptr, 0, ranks.streams[rank]), bits, from, to, kRanks, apart ? 1 : kRanks, rank, share};
  asked.work.before = &barrier;
  asked.work.after = apart ? nullptr : &barrier;
  enqueue(*ranks.queues[rank], asked, "combine between barriers");
  if (!apart) return;
  const crossrail_block block{to[1], to[0], share};
  crossrail_exchange spread{work_of(CROSSRAIL_WORK_EXCHANGE, nullptr, 0, ranks.streams[rank]), &block, 1, CROSSRAIL_ENGINE_KERNEL, 0};
  spread.work.after = &barrier;
  enqueue(*ranks.queues[rank], spread, "exchange before a barrier");
}

void run_between(Ranks& ranks, std::size_t bytes, int calls) {
  const auto finish = [&] {
    for (const cudaStream_t stream : ranks.streams) require(cudaStreamSynchronize(stream), "synchronise");
  };
  ranks.fill(static_cast<unsigned>(bytes) + 7);
  for (int call = 0; call < calls; ++call) {
    for (int rank = 0; rank < kRanks; ++rank) exchange_between(ranks, rank, bytes);
  }
  finish();
  ranks.check(bytes, 0, "exchange between barriers");
  for (const bool apart : {false, true}) {
    ranks.fill(static_cast<unsigned>(bytes) + (apart ? 11 : 9));
    for (int call = 0; call < calls; ++call) {
      for (int rank = 0; rank < kRanks; ++rank) combine_between(ranks, rank, bytes, apart);
    }
    finish();
    for (int rank = 0; rank < kRanks; ++rank) {
      Bytes expected(ranks.recvs[rank]->bytes, kPoison);
      for (std::size_t i = 0; i < bytes; ++i) expected[i] = ranks.images[0][i] ^ ranks.images[1][i];
      expect(ranks.recvs[rank]->read() == expected, "combination between barriers: rank %d, %zu bytes%s", rank, bytes, apart ? ", apart" : "");
    }
  }
}

// A rank whose peer never comes is called back.
void run_alone(crossrail_packet_form form) {
  Ranks ranks(form);
  crossrail_packets packets = ranks.packets(0, 100, 0);
  packets.work.value = 5;
  enqueue(*ranks.queues[0], packets, "packets");
  meet(*ranks.queues[0], ranks.barrier(0), nullptr);
  exchange_between(ranks, 0, 100);
  const double began = now_us();
  while (now_us() - began < 20000) {
  }
  expect(*ranks.queues[0]->flag() == 0, "packets do not wait for the peer");
  __atomic_store_n(ranks.queues[0]->flag(1), 1, __ATOMIC_RELEASE);
  ranks.queues[0]->await(~std::uint64_t{5});
  require(module->sync(*ranks.queues[0], CROSSRAIL_SYNC_DRAIN), "drain");
  require(cudaStreamSynchronize(ranks.streams[0]), "synchronise");
}

bool run_rounds(Ranks& ranks) {
  for (const std::size_t bytes : {1, 4, 7, 8, 16, 100, 112, 239, 240, 241, 1024, 4099, 4096, 65536, 70000, 24, 0, 8}) {
    for (const unsigned shift : {0u, 1u, 2u, 4u, 8u}) {
      if (!run_round(ranks, bytes, shift)) return false;
    }
  }
  for (int again = 0; again < 300; ++again) {
    if (!run_round(ranks, 8 + static_cast<std::size_t>(again) * 37 % 3000, 0)) return false;
  }
  for (int again = 0; again < 300; ++again) {
    if (!run_round(ranks, 16 * (1 + static_cast<std::size_t>(again) * 37 % 4000), 0)) return false;
  }
  run_captured(ranks, 256);
  run_captured(ranks, 40000);
  return true;
}

}  // namespace

void test_receive_buffers() {
  for (const crossrail_packet_form form : forms()) {
    Ranks ranks(form);
    if (!run_rounds(ranks)) return;
  }
  {
    Ranks ranks;
    for (const std::size_t bytes : {1, 16, 100, 4096, 4099, 32768, 70000}) run_between(ranks, bytes, 1);
    for (const std::size_t bytes : {16, 4099, 70000}) run_between(ranks, bytes, 100);
  }
  // These run beside what is freed later of the ranks before.
  for (const crossrail_packet_form form : forms()) {
    for (int again = 0; again < 20; ++again) run_alone(form);
  }
}

}  // namespace module_test
