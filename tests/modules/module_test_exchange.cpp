// These tests make exchanges by every engine. They vary sizes, misalignments and numbers of blocks, run in the program's streams and in graphs, and
// let the persistent kernel come and go.

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "module_test.h"

namespace module_test {
namespace {

constexpr std::size_t kGuard = 64;

struct Case {
  crossrail_engine engine;
  std::vector<std::size_t> sizes;
  unsigned to_shift, from_shift;
  int multiprocessors = 0;
  cudaStream_t stream = nullptr;
};

// Blocks lie in two buffers, with guard zones between them. Every second block stays on the device.
struct Scene {
  Scene(const Case& wanted, unsigned seed) : test(wanted) {
    std::size_t at = kGuard;
    for (const std::size_t bytes : test.sizes) {
      starts.push_back(at);
      at += (bytes + 15) / 16 * 16 + kGuard;
    }
    total = at + kGuard;
    image = pattern(total, seed);
  }
  const Case& test;
  std::vector<std::size_t> starts;
  std::size_t total = 0;
  Bytes image;
};

struct Rooms {
  explicit Rooms(std::size_t bytes) : from(0, bytes), home(0, bytes), away(far_device(), bytes) {}
  Memory from, home, away;
  Memory& of(std::size_t block) { return block % 2 == 0 ? away : home; }
};

std::vector<crossrail_block> blocks_of(const Scene& scene, Rooms& rooms) {
  std::vector<crossrail_block> blocks;
  for (std::size_t i = 0; i < scene.starts.size(); ++i) {
    blocks.push_back({rooms.of(i).at + scene.starts[i] + scene.test.to_shift,
                      rooms.from.at + scene.starts[i] + scene.test.from_shift, scene.test.sizes[i]});
  }
  return blocks;
}

void check(const Scene& scene, Rooms& rooms, const char* what) {
  Bytes home(rooms.home.bytes, kPoison), away(rooms.away.bytes, kPoison);
  for (std::size_t i = 0; i < scene.starts.size(); ++i) {
    Bytes& to = i % 2 == 0 ? away : home;
    std::memcpy(to.data() + scene.starts[i] + scene.test.to_shift, scene.image.data() + scene.starts[i] + scene.test.from_shift,
                scene.test.sizes[i]);
  }
  const bool right = rooms.home.read() == home && rooms.away.read() == away;
  expect(right, "%s: engine %d, %zu blocks, first of %zu bytes, shifts %u %u, %d multiprocessors", what, scene.test.engine,
         scene.test.sizes.size(), scene.test.sizes.empty() ? 0 : scene.test.sizes[0], scene.test.to_shift,
         scene.test.from_shift, scene.test.multiprocessors);
}

crossrail_exchange exchange_of(const Case& test, const std::vector<crossrail_block>& blocks) {
  crossrail_exchange exchange{};
  exchange.work.kind = CROSSRAIL_WORK_EXCHANGE;
  exchange.blocks = blocks.data();
  exchange.block_count = static_cast<int>(blocks.size());
  exchange.engine = test.engine;
  exchange.work.multiprocessors = test.multiprocessors;
  exchange.persistent_us = 300;
  exchange.work.stream = test.stream;
  return exchange;
}

void run(Queue& queue, const Case& test) {
  const Scene scene(test, static_cast<unsigned>(queue.value) + 7);
  Rooms rooms(scene.total);
  rooms.from.fill(scene.image);
  for (int again = 0; again < 2; ++again) {
    rooms.home.fill(kPoison);
    rooms.away.fill(kPoison);
    const std::vector<crossrail_block> blocks = blocks_of(scene, rooms);
    crossrail_exchange exchange = exchange_of(test, blocks);
    exchange.work.flag = queue.flag();
    exchange.work.value = ++queue.value;
    enqueue(queue, exchange, "exchange");
    if (queue.await(queue.value)) check(scene, rooms, "exchange");
  }
}

constexpr crossrail_engine kEngines[] = {CROSSRAIL_ENGINE_KERNEL, CROSSRAIL_ENGINE_COPY, CROSSRAIL_ENGINE_PERSISTENT};

void run_odd_ones(Queue& queue, crossrail_engine engine) {
  run(queue, {engine, {}, 0, 0});
  run(queue, {engine, std::vector<std::size_t>(200, 33), 1, 2});
  run(queue, {engine, std::vector<std::size_t>(64, 1024), 0, 0});
  run(queue, {engine, {5 << 20, 0, 1, 777777, 0, 64}, 0, 0});
  run(queue, {engine, {300000, 300000, 300000, 4096, 4096, 300000, 300000}, 4, 12, 3});
  run(queue, {engine, {1 << 20, 1 << 20, 1 << 20}, 0, 0, 1});
}

void run_mixed(Queue& queue) {
  // Engines keep their order: each reads what the one before has written.
  constexpr std::size_t kBytes = 100000;
  std::vector<Memory*> chain;
  for (int i = 0; i < 13; ++i) chain.push_back(new Memory(0, kBytes));
  for (Memory* one : chain) one->fill(kPoison);
  const Bytes image = pattern(kBytes, 99);
  chain[0]->fill(image);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    const crossrail_block block{chain[i + 1]->at, chain[i]->at, kBytes};
    const crossrail_exchange exchange{work_of(CROSSRAIL_WORK_EXCHANGE, queue.flag(), ++queue.value), &block, 1, kEngines[i % 5 % 3], 300};
    enqueue(queue, exchange, "exchange");
  }
  if (queue.await(queue.value)) expect(chain.back()->read() == image, "a chain of engines");
  for (Memory* one : chain) delete one;
}

void capture(Queue& queue, const Case& test) {
  const Scene scene(test, 5);
  Rooms rooms(scene.total);
  rooms.from.fill(scene.image);
  const std::vector<crossrail_block> blocks = blocks_of(scene, rooms);
  crossrail_exchange exchange = exchange_of(test, blocks);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  require(cudaStreamBeginCapture(test.stream, cudaStreamCaptureModeGlobal), "begin capture");
  exchange.work.flag = queue.flag(1);
  exchange.work.value = 4711;
  enqueue(queue, exchange, "exchange under capture");
  require(cudaStreamEndCapture(test.stream, &graph), "end capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (int again = 0; again < 3; ++again) {
    rooms.home.fill(kPoison);
    rooms.away.fill(kPoison);
    *queue.flag(1) = 0;
    require(cudaGraphLaunch(executable, test.stream), "graph launch");
    if (queue.await(4711, 1)) check(scene, rooms, "captured");
    require(cudaStreamSynchronize(test.stream), "synchronise");
  }
  require(cudaGraphExecDestroy(executable), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
}

// The work comes after what is in the default stream, and before what follows there.
void run_in_the_default_stream(Queue& queue, crossrail_engine engine) {
  require(cudaSetDevice(0), "cudaSetDevice");
  constexpr std::size_t kBytes = 100000, kBusyBytes = std::size_t{256} << 20;
  Memory busy(0, kBusyBytes), from(0, kBytes), to(0, kBytes);
  const crossrail_block block{to.at, from.at, kBytes};
  const crossrail_exchange exchange{work_of(CROSSRAIL_WORK_EXCHANGE, nullptr, 0, CROSSRAIL_DEFAULT_STREAM), &block, 1, engine, 300};
  for (int round = 1; round <= 5; ++round) {
    require(cudaMemsetAsync(busy.at, round, kBusyBytes, nullptr), "memset");
    require(cudaMemsetAsync(from.at, round, kBytes, nullptr), "memset");
    enqueue(queue, exchange, "exchange");
    require(cudaMemsetAsync(from.at, 0xEE, kBytes, nullptr), "memset");
    require(cudaStreamSynchronize(nullptr), "stream");
    expect(to.read() == Bytes(kBytes, static_cast<Bytes::value_type>(round)), "engine %d in the default stream, round %d", engine, round);
  }
}

}  // namespace

void test_exchange() {
  Queue queue(0);
  for (const crossrail_engine engine : kEngines) {
    for (const std::size_t bytes : {0, 1, 7, 16, 4099, (1 << 20) + 5}) {
      for (const auto& [to, from] : {std::pair{0u, 0u}, {1u, 1u}, {0u, 3u}, {2u, 0u}, {4u, 12u}, {8u, 0u}, {15u, 7u}}) {
        for (std::size_t count = 1; count <= 4; ++count) run(queue, {engine, std::vector(count, bytes), to, from});
      }
    }
    run_odd_ones(queue, engine);
  }
  run_mixed(queue);
  require(module->sync(queue, CROSSRAIL_SYNC_DRAIN), "drain");
}

void test_streams() {
  Queue queue(0);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (const crossrail_engine engine : kEngines) {
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{4099}, std::size_t{3} << 20}) {
      run(queue, {engine, std::vector(3, bytes), 0, 0, 0, stream});
      capture(queue, {engine, std::vector(3, bytes), 0, 0, 0, stream});
    }
  }
  require(cudaStreamDestroy(stream), "destroy");
  for (const crossrail_engine engine : kEngines) run_in_the_default_stream(queue, engine);
}

void test_persistent() {
  Queue queue(0);
  Memory from(0, 4096), to(far_device(), 4096);
  const crossrail_block block{to.at, from.at, 4096};
  crossrail_exchange exchange{work_of(CROSSRAIL_WORK_EXCHANGE, queue.flag()), &block, 1, CROSSRAIL_ENGINE_PERSISTENT, 20000};
  for (int again = 0; again < 3; ++again) {
    const Bytes image = pattern(4096, 17 + static_cast<unsigned>(again));
    from.fill(image);
    exchange.work.value = ++queue.value;
    enqueue(queue, exchange, "exchange");
    if (!queue.await(queue.value)) return;
    const double began = now_us();
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const double took = now_us() - began;
    expect(took < 40000, "cudaDeviceSynchronize took %.0f us with an idle limit of 20000", took);
    expect(to.read() == image, "persistent exchange %d", again);
  }
  // The kernel comes and goes. Commands arrive about when the kernel leaves.
  exchange.persistent_us = 30;
  for (int again = 0; again < 20000; ++again) {
    exchange.work.value = ++queue.value;
    enqueue(queue, exchange, "exchange");
    if (again % 7 != 0 && !queue.await(queue.value)) return;
    const double until = now_us() + 20 + again % 23;
    while (now_us() < until) {
    }
  }
  if (queue.await(queue.value)) expect(to.read() == from.read(), "persistent, coming and going");
  require(module->sync(queue, CROSSRAIL_SYNC_DRAIN), "drain");
  require(module->sync(queue, CROSSRAIL_SYNC_ERRORS), "look");
}

}  // namespace module_test
