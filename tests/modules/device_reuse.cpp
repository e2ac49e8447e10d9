// Memory of many kinds and sizes comes and goes between calls, so that addresses come back: a stale mapping shows as wrong data. Device memory and
// descriptors must not grow. Now and then one rank makes and frees memory, and waits for its device, while the others are in the call already.
//
//   device_reuse [ROUNDS [KIND]]    KIND: of all buffers, as device_memory.h names it

#include <unistd.h>

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr std::size_t kBlockBytes[] = {16, 5000, 1000, 40000, 64, 300000, 5000, 200, 70000, 8, 3000, 16};
// There is no managed memory, of which the driver keeps pages when it is freed.
constexpr Kind kOften[] = {Kind::device, Kind::device,      Kind::pool_default, Kind::device,         Kind::chunks,
                           Kind::device, Kind::pool_shared, Kind::device,       Kind::chunks_private, Kind::inside,
                           Kind::pinned, Kind::host};

const char* only = nullptr;

Kind often(std::uint64_t number) {
  for (const Kind kind : kKinds) {
    if (only != nullptr && std::string(only) == name_of(kind)) return kind;
  }
  return kOften[mix(number) % std::size(kOften)];
}

// This waits for all work of the device. It must not wait for a call that this rank is not yet in.
void disturb(std::uint64_t round) {
  void* made = nullptr;
  usleep(static_cast<useconds_t>(mix(round) % 4000));
  require(cudaMalloc(&made, std::size_t{8} << 20), "cudaMalloc");
  require(cudaMemset(made, static_cast<int>(round), std::size_t{8} << 20), "cudaMemset");
  require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  require(cudaFree(made), "cudaFree");
}

void one_round(std::uint64_t round) {
  const std::size_t bytes = kBlockBytes[mix(round) % std::size(kBlockBytes)];
  // Mostly all ranks have the same kind, and at times each has another.
  const std::uint64_t own = round % 4 == 0 ? static_cast<unsigned>(rank) * 7919u : 0;
  Exchange exchange({bytes, often(2 * round + own), often(2 * round + 1 + own), round % 5 == 0});
  exchange.fill(round);
  if (round % 16 == 0 && round / 16 % static_cast<unsigned>(size) == static_cast<unsigned>(rank)) disturb(round);
  if (const int code = exchange.run(); code != MPI_SUCCESS)
    complain("round %lu: error %d", static_cast<unsigned long>(round), code);
  exchange.check(("round " + std::to_string(round)).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  const auto rounds = static_cast<std::uint64_t>(argc > 1 ? std::atol(argv[1]) : 3000);
  only = argc > 2 ? argv[2] : nullptr;
  Use before;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    one_round(round);
    if (rounds < 10 || round % (rounds / 10) != 0) continue;
    const Use now = use_now();
    if (round == rounds / 10) before = now;
    std::printf("rank %d, %lu rounds: %zu MiB free, %ld descriptors\n", rank, static_cast<unsigned long>(round), now.free_bytes >> 20, now.descriptors);
    std::fflush(stdout);
  }
  if (rounds >= 10) check_use(before, use_now());
  return finish("device_reuse");
}
