// This measures what a rank of a large machine does alone at the first call on a communicator, and what
// it keeps. With the places of all ranks, as one MPI_Allgather delivers them, it finds the topology and
// looks for an algorithm. It does not use MPI: the time of that exchange is the MPI library's.

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "selection/selection.h"

namespace {

constexpr int kRanksANode = 56;

std::vector<crossrail::Location> locations_of(int ranks) {
  std::vector<crossrail::Location> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    crossrail::Location& one = all[static_cast<std::size_t>(rank)];
    one.host = one.machine = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(1 + rank / kRanksANode);
    one.pid = 1000 + rank;
    one.domain = rank % kRanksANode / 28;
    one.first_cpu = rank % kRanksANode;
    one.cpu_count = 1;
  }
  return all;
}

std::size_t in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void open(int ranks, const std::vector<crossrail::TuningRow>& rows) {
  const std::vector<crossrail::Location> all = locations_of(ranks);
  const std::size_t before = in_use();
  const auto began = std::chrono::steady_clock::now();
  const crossrail::Topology topology = crossrail::topology_from_locations(all, ranks / 2);
  const bool served = crossrail::could_serve(rows, crossrail::Settings{}, topology, false);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  std::printf("%6d ranks on %4d nodes: %8zu bytes exchanged, %6.2f ms, topology of %7zu bytes, %s\n", ranks, topology.node_count(),
              all.size() * sizeof all[0], took.count(), in_use() - before, served ? "a segment" : "and nothing else: no algorithm for it");
}

}  // namespace

int main() {
  std::vector<crossrail::TuningRow> rows;
  (void)crossrail::read_tuning(crossrail::default_tuning(), "default.csv", rows);
  for (const int ranks : {56, 896, 7168, 57344}) open(ranks, rows);
  return 0;
}
