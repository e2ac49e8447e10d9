// These are medians, for choosing defaults: what calls cost the host, and when flags come.

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "module_test.h"

namespace module_test {
namespace {

struct Times {
  double call, flag;  // `call` lasts until the call returns, `flag` until the host sees the flag.
};

Times time_exchange(Queue& queue, crossrail_exchange exchange, int rounds) {
  std::vector<double> calls, flags;
  for (int i = 0; i < rounds; ++i) {
    exchange.work.flag = queue.flag();
    exchange.work.value = ++queue.value;
    const double began = now_us();
    enqueue(queue, exchange, "exchange");
    const double returned = now_us();
    if (!queue.await(queue.value)) std::exit(1);
    flags.push_back(now_us() - began);
    calls.push_back(returned - began);
  }
  return {median(calls), median(flags)};
}

crossrail_exchange one_block(const crossrail_block& block, crossrail_engine engine) {
  return {work_of(CROSSRAIL_WORK_EXCHANGE), &block, 1, engine, 2000};
}

double time_call(const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const double began = now_us();
    for (int again = 0; again < 100; ++again) call();
    times.push_back((now_us() - began) / 100);
  }
  return median(times);
}

void time_facts() {
  Memory memory(0, 1 << 20);
  int host = 0;
  crossrail_memory facts{};
  std::printf("classify device %.3f us, host %.3f us; describe device %.3f us, host %.3f us\n",
              time_call([&] { (void)kind_of(memory.at); }), time_call([&] { (void)kind_of(&host); }),
              time_call([&] { module->describe(memory.at + 4096, 100, &facts); }),
              time_call([&] { module->describe(&host, 4, &facts); }));
}

void time_ways() {
  Memory from(0, 1 << 20), to(far_device(), 1 << 20);
  for (const char* way : {"kernel", "update", "graph"}) {
    setenv("CROSSRAIL_LAUNCH", way, 1);
    Queue queue(0);
    for (const std::size_t bytes : {16, 4096, 65536}) {
      const crossrail_block block{to.at, from.at, bytes};
      (void)time_exchange(queue, one_block(block, CROSSRAIL_ENGINE_KERNEL), 200);
      const Times times = time_exchange(queue, one_block(block, CROSSRAIL_ENGINE_KERNEL), 2000);
      std::printf("launch %-6s %6zu B: call %.2f us, flag %.2f us\n", way, bytes, times.call, times.flag);
    }
    crossrail_block four[4];
    for (int i = 0; i < 4; ++i) four[i] = {to.at + i * 65536, from.at + i * 65536, 4096};
    const crossrail_exchange exchange{work_of(CROSSRAIL_WORK_EXCHANGE), four, 4, CROSSRAIL_ENGINE_KERNEL, 0};
    (void)time_exchange(queue, exchange, 200);
    const Times times = time_exchange(queue, exchange, 2000);
    std::printf("launch %-6s 4 x 4 KiB: call %.2f us, flag %.2f us\n", way, times.call, times.flag);
  }
  unsetenv("CROSSRAIL_LAUNCH");
}

void time_engines() {
  Memory from(0, 64 << 20), to(far_device(), 64 << 20);
  Queue queue(0);
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1} << 20, std::size_t{64} << 20}) {
    const crossrail_block block{to.at, from.at, bytes};
    const Times times = time_exchange(queue, one_block(block, CROSSRAIL_ENGINE_COPY), 300);
    std::printf("copy engine %8zu B: call %.2f us, flag %.2f us, %.1f GB/s\n", bytes, times.call, times.flag,
                static_cast<double>(bytes) / times.flag / 1e3);
  }
  for (const std::size_t bytes : {16, 1024, 4096, 16384, 65536}) {
    const crossrail_block block{to.at, from.at, bytes};
    (void)time_exchange(queue, one_block(block, CROSSRAIL_ENGINE_PERSISTENT), 100);
    const Times times = time_exchange(queue, one_block(block, CROSSRAIL_ENGINE_PERSISTENT), 2000);
    std::printf("persistent %6zu B: call %.2f us, flag %.2f us\n", bytes, times.call, times.flag);
  }
  require(module->sync(queue, CROSSRAIL_SYNC_DRAIN), "drain");
}

void time_packets() {
  Queue queue(0);
  for (const std::size_t bytes : {16, 1024, 16384}) {
    void* buffer = nullptr;
    const std::size_t buffer_bytes = packets_bytes(queue, CROSSRAIL_PACKETS_LL, 1, bytes);
    const crossrail_memory place = facts_of(queue.near.at, 1);
    require(module->alloc(&place, buffer_bytes, &buffer), "alloc");
    Memory send(0, bytes), recv(0, bytes);
    std::vector<double> times;
    for (int i = 0; i < 2000; ++i) {
      const crossrail_packets packets{work_of(CROSSRAIL_WORK_PACKETS, queue.flag(), ++queue.value), send.at, recv.at, bytes, bytes, bytes, 0, 1, &buffer, buffer_bytes, nullptr, CROSSRAIL_PACKETS_LL, {}};
      const double began = now_us();
      enqueue(queue, packets, "packets");
      if (!queue.await(queue.value)) std::exit(1);
      times.push_back(now_us() - began);
    }
    std::printf("packets of one rank, %6zu B: flag %.2f us\n", bytes, median(times));
    require(module->sync(queue, CROSSRAIL_SYNC_DRAIN), "drain");
    require(module->free(buffer), "free");
  }
}

void sweep() {
  Memory from(0, 64 << 20), to(far_device(), 64 << 20);
  Queue queue(0);
  std::puts("kernel engine, GB/s to flag, by bytes and most multiprocessors (0: the module's choice)");
  const int grids[] = {0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 132, 264};
  std::printf("%10s", "");
  for (const int grid : grids) std::printf("%8d", grid);
  for (std::size_t bytes = 64 << 10; bytes <= std::size_t{64} << 20; bytes *= 4) {
    std::printf("\n%10zu", bytes);
    for (const int grid : grids) {
      const crossrail_block block{to.at, from.at, bytes};
      crossrail_exchange exchange = one_block(block, CROSSRAIL_ENGINE_KERNEL);
      exchange.work.multiprocessors = grid;
      (void)time_exchange(queue, exchange, 5);
      const Times times = time_exchange(queue, exchange, bytes > (4 << 20) ? 30 : 200);
      std::printf("%8.1f", static_cast<double>(bytes) / times.flag / 1e3);
    }
  }
  std::puts("");
}

}  // namespace

void measure() {
  std::printf("%d devices; exchanges go to %s\n", devices, devices > 1 ? "another device" : "the same device");
  time_facts();
  time_ways();
  time_engines();
  time_packets();
  sweep();
}

}  // namespace module_test
