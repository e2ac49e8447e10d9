// The program tests MPI_Alltoallv, MPI_Alltoallw and their nonblocking forms on device memory. Results are compared with the definition: one message
// of host memory between every two ranks. It uses counts of many forms, gaps between and within blocks, calls in place, and all kinds of memory.

#include "device_exchange.h"

namespace {

using namespace device_test;

enum class Lengths { uniform, random, sparse, one_rank, large };
constexpr Lengths kLengths[] = {Lengths::uniform, Lengths::random, Lengths::sparse, Lengths::one_rank, Lengths::large};
enum class Function { v, w, nonblocking_v, nonblocking_w };
constexpr Function kFunctions[] = {Function::v, Function::w, Function::nonblocking_v, Function::nonblocking_w};

// Returns the ints from one rank to another, the same on every rank.
int count_of(Lengths lengths, std::uint64_t round, int from, int to) {
  const std::uint64_t random = block_key(round, from, to);
  switch (lengths) {
    case Lengths::uniform: return 1 + static_cast<int>(mix(round) % 5000);
    case Lengths::random: return static_cast<int>(random % 3000);
    case Lengths::sparse: return random % 3 == 0 ? static_cast<int>(random >> 40) % 70'000 : 0;
    case Lengths::one_rank: return from == static_cast<int>(round) % size ? 12'345 : 0;
    case Lengths::large: return static_cast<int>(random % 3'000'000);
  }
  return 0;
}

// One type has every second int of the memory, and one has each: two forms of the same data.
MPI_Datatype spread_int() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

struct Side {
  Side(Lengths lengths, std::uint64_t round, bool sends, bool spread_out, bool symmetric)
      : type(spread_out ? spread_int() : MPI_INT), unit(static_cast<int>(sizeof(int)) * (spread_out ? 2 : 1)) {
    const std::uint64_t random = mix(round + (sends ? 11 : 12)) + static_cast<unsigned>(rank);
    for (int peer = 0; peer < size; ++peer) {
      int from = sends ? rank : peer, to = sends ? peer : rank;
      if (symmetric && from > to) std::swap(from, to);
      total += static_cast<int>(mix(random + static_cast<unsigned>(peer)) % 4);
      counts.push_back(count_of(lengths, round, from, to));
      places.push_back(total);
      bytes.push_back(total * unit);
      types.push_back(type);
      total += counts.back();
    }
  }
  std::size_t reach() const { return static_cast<std::size_t>(total) * static_cast<std::size_t>(unit); }
  MPI_Datatype type;
  int unit, total = 0;
  std::vector<int> counts, places, bytes;
  std::vector<MPI_Datatype> types;
};

void define(const unsigned char* from, const Side& send, unsigned char* to, const Side& recv) {
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < size; ++peer) {
    MPI_Irecv(to + recv.bytes[peer], recv.counts[peer], recv.type, peer, 5, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Isend(from + send.bytes[peer], send.counts[peer], send.type, peer, 5, MPI_COMM_WORLD, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int call(Function function, const void* from, const Side& send, void* to, const Side& recv) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (function) {
    case Function::v:
      return MPI_Alltoallv(from, send.counts.data(), send.places.data(), send.type, to, recv.counts.data(), recv.places.data(), recv.type,
                           MPI_COMM_WORLD);
    case Function::w:
      return MPI_Alltoallw(from, send.counts.data(), send.bytes.data(), send.types.data(), to, recv.counts.data(), recv.bytes.data(),
                           recv.types.data(), MPI_COMM_WORLD);
    case Function::nonblocking_v:
      code = MPI_Ialltoallv(from, send.counts.data(), send.places.data(), send.type, to, recv.counts.data(), recv.places.data(), recv.type,
                            MPI_COMM_WORLD, &request);
      break;
    case Function::nonblocking_w:
      code = MPI_Ialltoallw(from, send.counts.data(), send.bytes.data(), send.types.data(), to, recv.counts.data(), recv.bytes.data(),
                            recv.types.data(), MPI_COMM_WORLD, &request);
      break;
  }
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

void check(const Area& area, const char* which, const std::string& what) {
  std::size_t first = 0;
  if (const std::size_t bytes = area.wrong_bytes(first); bytes > 0) {
    complain("%s: %zu bytes wrong in the %s buffer, from %ld, by %s", what.c_str(), bytes, which,
             static_cast<long>(first) - static_cast<long>(area.before), last_algorithm());
  }
}

struct Case {
  Lengths lengths;
  Function function;
  Kind send, recv;
  bool in_place, send_spread, recv_spread;
  int times;  // It repeats with the same memory, so that it is mapped.
};

int on_devices = 0;

void run(const Case& one, std::uint64_t round) {
  const Side send(one.lengths, round, true, one.in_place ? one.recv_spread : one.send_spread, one.in_place);
  const Side recv(one.lengths, round, false, one.recv_spread, one.in_place);
  Area from(one.in_place ? 0 : send.reach(), one.in_place ? Kind::host : one.send, round % 3 * 4), to(recv.reach(), one.recv, round % 5 * 4);
  for (int time = 0; time < one.times; ++time) {
    from.poison(mix(round * 100 + static_cast<unsigned>(time)) + static_cast<unsigned>(rank));
    to.poison(mix(round * 100 + static_cast<unsigned>(time) + 50) + static_cast<unsigned>(rank));
    from.write();
    to.write();
    const std::vector<unsigned char> before(to.image);
    if (one.in_place) {
      define(before.data() + to.before, recv, to.block(0), recv);
    } else {
      define(from.block(0), send, to.block(0), recv);
    }
    const int code = call(one.function, one.in_place ? MPI_IN_PLACE : from.buffer(), send, to.buffer(), recv);
    const std::string what = "lengths " + std::to_string(static_cast<int>(one.lengths)) + ", function " + std::to_string(static_cast<int>(one.function)) +
                             (one.in_place ? ", in place" : "") + (one.send_spread ? ", gaps sent" : "") + (one.recv_spread ? ", gaps received" : "") +
                             ", time " + std::to_string(time);
    if (code != MPI_SUCCESS) complain("%s: error %d", what.c_str(), code);
    check(from, "send", what);
    check(to, "receive", what);
    on_devices += std::string(last_algorithm()) == (std::getenv("CROSSRAIL_NODES") == nullptr ? "ipc_push" : "pairwise") ? 1 : 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  constexpr Kind kKinds[] = {Kind::device, Kind::device, Kind::device, Kind::pool_default, Kind::chunks, Kind::managed, Kind::host};
  std::uint64_t round = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const Lengths lengths : kLengths) {
      for (const Function function : kFunctions) {
        for (int form = 0; form < 6; ++form) {
          ++round;
          const auto kind = [&](std::uint64_t salt) {  // Now and then some rank has another kind.
            return repeat == 0 ? Kind::device : kKinds[mix(round * 7 + salt + static_cast<unsigned>(rank % 2)) % std::size(kKinds)];
          };
          // Nonblocking calls in place hang in Open MPI 4.1 itself where a block is empty, and on several nodes some are native.
          const bool nonblocking = function == Function::nonblocking_v || function == Function::nonblocking_w;
          const bool in_place = (form == 4 || form == 5) && !(nonblocking && std::getenv("CROSSRAIL_NODES") != nullptr);
          run({lengths, function, kind(1), kind(2), in_place, form == 1 || form == 3, form == 2 || form == 3 || form == 5,
               lengths == Lengths::large ? 1 : 4}, round);
        }
      }
    }
  }
  if (crossrail_is_here() && on_devices < 100) complain("only %d calls went as those on device memory do", on_devices);
  return finish("device_vectors");
}
