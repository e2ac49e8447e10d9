// The program tests every kind of memory on the send and on the receive side, the same on all ranks or another on each.

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr std::size_t kBlockBytes[] = {16, 5000, 300000};

std::uint64_t rounds;

Kind kind_at(int index) { return kKinds[index % kKindCount]; }

// Each case runs twice with other data: what a library keeps of the first call must fit the second.
void run_case(const Call& call, const char* what) {
  Exchange exchange(call);
  exchange.once(++rounds, what);
  exchange.once(++rounds, what);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  for (const std::size_t bytes : kBlockBytes) {
    for (int i = 0; i < kKindCount; ++i) {
      for (int j = 0; j < kKindCount; ++j) {
        run_case({bytes, kind_at(i), kind_at(j)}, "the same on all");
        run_case({bytes, kind_at(i + rank), kind_at(j + 3 * rank)}, "another on each");
      }
      run_case({bytes, Kind::host, kind_at(i), true}, "in place, the same on all");
      run_case({bytes, Kind::host, kind_at(i + rank), true}, "in place, another on each");
    }
    if (rank == 0) std::printf("%zu bytes: last by %s\n", bytes, last_algorithm());
  }
  return finish("device_kinds");
}
