// The program tests MPI_Gather, MPI_Scatter, their v forms, MPI_Allgatherv and MPI_Reduce_scatter on device memory, blocking and nonblocking. Results are
// compared with the definition in host memory. Calls are in place and not, with all roots, all kinds of memory, odd addresses, gaps between the blocks,
// and short, long and empty blocks.

#include <numeric>

#include "device_exchange.h"

namespace {

using namespace device_test;

enum class Call { gather, gatherv, scatter, scatterv, allgatherv, reduce_scatter };
constexpr Call kCalls[] = {Call::gather, Call::gatherv, Call::scatter, Call::scatterv, Call::allgatherv, Call::reduce_scatter};
constexpr const char* kNames[] = {"MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Reduce_scatter"};

struct Case {
  Call call;
  bool nonblocking, in_place;
  int root;
  Kind from, to;
  int longest;        // No block has more ints.
  std::size_t shift;  // It is the shift of the addresses, in ints.
};

bool equal_blocks(Call call) { return call == Call::gather || call == Call::scatter; }
bool gathers(Call call) { return call == Call::gather || call == Call::gatherv || call == Call::allgatherv; }
bool scatters(Call call) { return call == Call::scatter || call == Call::scatterv; }
bool rooted(Call call) { return call != Call::allgatherv && call != Call::reduce_scatter; }

// The blocks of all ranks: lengths and places in ints. There are gaps between them in gatherings and scatterings with counts.
struct Blocks {
  std::vector<int> counts, places;
  int all = 0;
};

Blocks blocks_of(const Case& one, std::uint64_t seed) {
  Blocks blocks;
  for (int of_rank = 0; of_rank < size; ++of_rank) {
    const std::uint64_t chance = mix(seed * 977 + static_cast<unsigned>(of_rank));
    const int count = equal_blocks(one.call) || one.longest == 0 ? one.longest : chance % 4 == 0 ? 0 : static_cast<int>(chance / 4 % static_cast<unsigned>(one.longest)) + 1;
    const bool gap = !equal_blocks(one.call) && one.call != Call::reduce_scatter;
    blocks.places.push_back(blocks.all + (gap ? static_cast<int>(chance / 7 % 3) : 0));
    blocks.counts.push_back(count);
    blocks.all = blocks.places.back() + count;
  }
  return blocks;
}

std::vector<int> numbers(int of_rank, std::uint64_t seed, int many) {
  std::vector<int> row(static_cast<std::size_t>(many));
  for (std::size_t place = 0; place < row.size(); ++place) row[place] = static_cast<int>(mix(seed * 1000003 + static_cast<unsigned>(of_rank) * 7919 + place));
  return row;
}

// What a rank's memory holds: the ints of a call behind `shift` others, on a background of poison.
struct Image {
  std::size_t shift;
  std::vector<unsigned char> bytes;
  Image(std::size_t before, int ints, unsigned char poison) : shift(before), bytes(std::max<std::size_t>(1, (before + static_cast<std::size_t>(ints)) * sizeof(int)), poison) {}
  void put(int at, const int* from, int count) {
    if (count > 0) std::memcpy(bytes.data() + (shift + static_cast<std::size_t>(at)) * sizeof(int), from, static_cast<std::size_t>(count) * sizeof(int));
  }
};

int call(const Case& one, const Blocks& blocks, const void* from, void* to) {
  const int mine = blocks.counts[static_cast<std::size_t>(rank)];
  const int *counts = blocks.counts.data(), *places = blocks.places.data();
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm all = MPI_COMM_WORLD;
  int code = MPI_SUCCESS;
  switch (one.call) {
    case Call::gather:
      if (!one.nonblocking) return MPI_Gather(from, mine, MPI_INT, to, mine, MPI_INT, one.root, all);
      code = MPI_Igather(from, mine, MPI_INT, to, mine, MPI_INT, one.root, all, &request);
      break;
    case Call::gatherv:
      if (!one.nonblocking) return MPI_Gatherv(from, mine, MPI_INT, to, counts, places, MPI_INT, one.root, all);
      code = MPI_Igatherv(from, mine, MPI_INT, to, counts, places, MPI_INT, one.root, all, &request);
      break;
    case Call::scatter:
      if (!one.nonblocking) return MPI_Scatter(from, mine, MPI_INT, to, mine, MPI_INT, one.root, all);
      code = MPI_Iscatter(from, mine, MPI_INT, to, mine, MPI_INT, one.root, all, &request);
      break;
    case Call::scatterv:
      if (!one.nonblocking) return MPI_Scatterv(from, counts, places, MPI_INT, to, mine, MPI_INT, one.root, all);
      code = MPI_Iscatterv(from, counts, places, MPI_INT, to, mine, MPI_INT, one.root, all, &request);
      break;
    case Call::allgatherv:
      if (!one.nonblocking) return MPI_Allgatherv(from, mine, MPI_INT, to, counts, places, MPI_INT, all);
      code = MPI_Iallgatherv(from, mine, MPI_INT, to, counts, places, MPI_INT, all, &request);
      break;
    case Call::reduce_scatter:
      if (!one.nonblocking) return MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, all);
      code = MPI_Ireduce_scatter(from, to, counts, MPI_INT, MPI_SUM, all, &request);
      break;
  }
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// The blocks of `owner`, as they lie in the row that the call scatters or gathers.
void put_all(Image& image, const Blocks& blocks, std::uint64_t seed) {
  for (int of_rank = 0; of_rank < size; ++of_rank) {
    const auto at = static_cast<std::size_t>(of_rank);
    image.put(blocks.places[at], numbers(of_rank, seed, blocks.counts[at]).data(), blocks.counts[at]);
  }
}

void run_case(const Case& one, std::uint64_t seed) {
  const Blocks blocks = blocks_of(one, seed);
  const auto me = static_cast<std::size_t>(rank);
  const int mine = blocks.counts[me], at = blocks.places[me];
  const bool is_root = !rooted(one.call) || rank == one.root;
  const bool in_place = one.in_place && is_root;
  const bool reduces = one.call == Call::reduce_scatter;
  // The memory of the row has all blocks, and that of the block has this rank's.
  const int sent_ints = gathers(one.call) ? mine : blocks.all, received_ints = gathers(one.call) || (reduces && in_place) ? blocks.all : mine;
  Image sent(one.shift, sent_ints, 0x5A), image(one.shift, received_ints, 0xC3);
  std::vector<int> row;
  if (reduces) {
    row = numbers(rank, seed, blocks.all);
    (in_place ? image : sent).put(0, row.data(), blocks.all);
  } else if (scatters(one.call)) {
    if (is_root) put_all(sent, blocks, seed);
  } else {
    row = numbers(rank, seed, mine);
    if (in_place) image.put(at, row.data(), mine);
    else sent.put(0, row.data(), mine);
  }
  Memory send(sent.bytes.size(), one.from), recv(image.bytes.size(), one.to);
  send.write(sent.bytes);
  recv.write(image.bytes);
  int* const own_send = static_cast<int*>(send.address) + one.shift;
  int* const own_recv = static_cast<int*>(recv.address) + one.shift;
  const bool root_receives = scatters(one.call);
  const void* const from = in_place && !root_receives ? MPI_IN_PLACE : own_send;
  void* const to = in_place && root_receives ? MPI_IN_PLACE : static_cast<void*>(own_recv);
  const int code = call(one, blocks, from, to);
  carried_by = last_algorithm();
  if (reduces) {
    std::vector<int> sums(static_cast<std::size_t>(mine), 0);
    for (int of_rank = 0; of_rank < size; ++of_rank) {
      const std::vector<int> its = numbers(of_rank, seed, blocks.all);
      for (int i = 0; i < mine; ++i) {
        int& sum = sums[static_cast<std::size_t>(i)];
        sum = static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(its[static_cast<std::size_t>(at + i)]));
      }
    }
    image.put(0, sums.data(), mine);
  } else if (scatters(one.call)) {
    if (!in_place) image.put(0, numbers(rank, seed, mine).data(), mine);
  } else if (is_root) {
    put_all(image, blocks, seed);
  }
  std::vector<unsigned char> got = recv.read();
  // Behind a reduction in place, what lies outside the block is not defined.
  if (reduces && in_place) {
    const std::size_t begin = one.shift * sizeof(int), end = begin + static_cast<std::size_t>(mine) * sizeof(int);
    std::memcpy(got.data() + end, image.bytes.data() + end, image.bytes.size() - std::min(image.bytes.size(), end));
  }
  if (code != MPI_SUCCESS || got != image.bytes || send.read() != sent.bytes) {
    complain("%s%s of at most %d ints, root %d, from %s to %s%s at %zu: code %d, by %s", kNames[static_cast<int>(one.call)], one.nonblocking ? ", nonblocking," : "",
             one.longest, one.root, name_of(one.from), name_of(one.to), one.in_place ? " in place" : "", one.shift, code, carried_by.c_str());
  }
}

void all_lengths() {
  std::uint64_t seed = 0;
  for (const Call which : kCalls) {
    for (const int longest : {0, 1, 17, 1000, 4099, 50'000, 1 << 19}) {
      for (const bool in_place : {false, true}) {
        for (int again = 0; again < 4; ++again) {
          ++seed;
          run_case({which, seed % 3 == 0, in_place, static_cast<int>(seed % static_cast<unsigned>(size)), Kind::device, Kind::device, longest, seed % 5}, seed);
        }
      }
    }
  }
}

void all_kinds_of_memory() {
  std::uint64_t seed = 5000;
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      for (const Call which : kCalls) {
        ++seed;
        const Kind mine = rank == static_cast<int>(seed) % size ? to : from;  // Ranks may have their blocks anywhere.
        for (int again = 0; again < 3; ++again) {
          run_case({which, again == 1, again == 2, static_cast<int>(seed % static_cast<unsigned>(size)), mine, to, static_cast<int>(1 + mix(seed) % 20'000), 0}, seed);
        }
      }
    }
  }
}

// Every collective is carried on device memory on one node.
void expect_carried() {
  if (!crossrail_is_here() || std::getenv("CROSSRAIL_NODES") != nullptr) return;
  for (const Call which : kCalls) {
    for (int again = 0; again < 3; ++again) run_case({which, false, false, 0, Kind::device, Kind::device, 1000, 0}, 2);
    if (carried_by.find("ipc_") == std::string::npos) complain("%s is carried by %s", kNames[static_cast<int>(which)], carried_by.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  for (int call_number = 0; call_number < 10; ++call_number) MPI_Allreduce(MPI_IN_PLACE, &devices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  all_lengths();
  all_kinds_of_memory();
  expect_carried();
  return finish("device_rooted");
}
