// What all benches share: command line, timing, statistics, JSON. A bench of a collective is five
// functions: bytes, fill, check, call, bandwidth.
//
// Contenders take turns batch by batch in one process, so that their ratio means something on a
// noisy machine. One repetition is a batch of calls in a row; its time is that of the slowest
// rank, divided by the calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Options {
  std::size_t min_bytes = 1;
  std::size_t max_bytes = 1 << 20;
  std::vector<std::string> contenders = {"native", "auto"};
  int repetitions = 0;          // batches a size and contender; 0: as many as fit the time
  double seconds_a_size = 0.3;  // time for one contender at one size where repetitions is 0
  int buffers = 1;              // sets of buffers used in turn: more than one defeats the caches
  std::string output;           // JSON file; empty: only the table
};

Options read_options(int argc, char** argv);

struct Statistics {
  double min_us, p50_us, p99_us, max_us;
};

// On a communicator of its own: native MPI (PMPI_), crossrail's own choice ("auto"), a call that
// crossrail hands back ("passed"), or one of its algorithms, with parameters if need be.
struct Contender {
  std::string name;
  MPI_Comm comm;
  bool native() const { return name == "native"; }
};

struct Collective {
  const char* name;
  // Bytes of one rank's send buffer for blocks of `block` bytes.
  std::size_t (*bytes)(std::size_t block, int ranks);
  void (*fill)(std::byte* send, std::size_t block, int rank, int ranks, std::uint64_t seed);
  // Wrong blocks in what `rank` has received.
  std::uint64_t (*check)(const std::byte* recv, std::size_t block, int rank, int ranks, std::uint64_t seed);
  int (*call)(const void* send, void* recv, std::size_t block, const Contender& contender);
  // Bytes a second that leave one rank.
  double (*bandwidth)(std::size_t block, int ranks, double seconds);
};

// Runs the collective over all sizes and contenders, prints a table on rank 0 and writes JSON.
// Returns the process's exit code: 1 if any byte was wrong.
int run(const Collective& collective, int argc, char** argv);

}  // namespace bench
