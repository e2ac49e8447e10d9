// Every rank is in a process-id namespace of its own, as in containers (pid_space.sh starts it so). Process ids say nothing of the others, and no
// other process can be opened. The data must be right all the same.

#include <unistd.h>

#include "device_exchange.h"

int main(int argc, char** argv) {
  using namespace device_test;
  if (!start(&argc, &argv)) return kSkip;
  std::uint64_t round = 0;
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{5000}, std::size_t{300000}, std::size_t{3} << 20}) {
    for (const Kind kind : kKinds) {
      for (const bool in_place : {false, true}) {
        Exchange exchange({bytes, kind, kind, in_place});
        exchange.once(++round, "own process ids");
        exchange.once(++round, "own process ids, again");
      }
      Exchange({bytes, Kind::device, kKinds[(static_cast<int>(kind) + rank) % kKindCount]})
          .once(++round, "kinds mixed");
    }
    if (rank == 0)
      std::printf("%zu bytes: last by %s; process %ld\n", bytes, last_algorithm(), static_cast<long>(getpid()));
  }
  return finish("device_pid_spaces");
}
