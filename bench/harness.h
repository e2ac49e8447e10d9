// What all benches share: command line, timing, statistics, JSON. A bench of a collective is
// one file with four functions, prepare, fill, check and arguments (forms.h).
//
// Contenders take turns batch by batch in one process, all equally often (pace.h), so that their ratio means something on a
// noisy machine. One repetition is a batch of calls in a row; its time is that of the slowest
// rank, divided by the calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "datatype.h"

namespace bench {

// A function of another library with the signature of the collective, as `--peer NAME=LIBRARY:SYMBOL`
// names it. What it calls under an MPI_ name that crossrail takes over goes to crossrail, where that is
// preloaded: a peer that is to be measured on its own calls PMPI_.
struct Peer {
  std::string name, library, symbol;
};

using PeerFunction = void (*)();  // to be cast to the type of the collective

// What a peer's library has; peer.h says what it is for.
struct LoadedPeer {
  PeerFunction call = nullptr;
  void* (*allocate)(std::size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
  double (*seconds)() = nullptr;
  const char* (*version)() = nullptr;
  bool unchecked = false;
};

enum class Memory { host, cuda };

// How long the blocks of a size are: all alike; or by Zipf's law, so that the most goes to rank 0, half as much to rank 1, a third as much
// to rank 2, and the mean is the size.
enum class Counts { equal, zipf };

// MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init: of every collective one of these is measured.
enum class Form { blocking, nonblocking, persistent };

struct Options {
  std::size_t min_bytes = 1;
  std::size_t max_bytes = 1 << 20;
  bool half_steps = false;  // from a size to the next: the square root of two, in multiples of 16 bytes
                            // (of derived datatypes kBlockUnit); else two
  Memory memory = Memory::host;
  std::vector<std::string> contenders;  // none given: native and auto; in device memory only auto, since not
                                        // every MPI library takes it
  std::vector<Peer> peers;      // contenders too, after the others
  int repetitions = 0;          // of every contender at a size; 0: as many as fit the time
  double seconds_a_size = 0.3;  // for a contender at a size, in the mean over all: they have as many repetitions
  double most_seconds = 0;      // time for the whole run, 0: no limit. Sizes that no time is left for are left out
  int buffers = 1;              // sets of buffers used in turn: more than one defeats the caches
  int ranks = 0;                // that were asked for; 0: it is not known
  int empty_percent = 0;        // pairs of ranks whose block is empty
  Counts counts = Counts::equal;
  std::string datatype = kContiguous;  // of both sides, or SENDER:RECEIVER where they differ (datatype.h)
  Form form = Form::blocking;
  bool in_place = false;        // MPI_IN_PLACE for the send buffer
  bool off_cache = false;       // the buffers are flushed from the caches before every timed call
  bool slices = false;          // every call uses another slice of one allocation
  bool beside = false;          // a kernel of the program's own runs on the device meanwhile
  bool fresh = false;           // the buffers are allocated before every call and freed behind it, and timed with it
  int tests = 0;                // calls of MPI_Test in the work between start and wait
  int processes = 0;            // of a GPU, in the ping-pong; 0: this is another bench
  std::string output;           // JSON file; empty: only the table
  std::size_t unit = 1;         // bytes of which every block is a multiple, for the collective's sake
};

Options read_options(int argc, char** argv);
std::vector<std::size_t> blocks_of(const Options& options);
// What is wrong with the contenders; empty: nothing.
std::string complaint(const Options& options);

struct Statistics {
  double min_us, mean_us, p50_us, p99_us, max_us;
  double low_us, high_us;  // 95 % confidence interval of the median; both 0 where there are too few batches for one
};

// On a communicator of its own: native MPI (PMPI_), crossrail's own choice ("auto"), a call that
// crossrail hands back ("passed"), one of its algorithms, with parameters if need be, another
// collective that makes the same exchange ("alltoall"), or a peer.
struct Contender {
  std::string name;
  MPI_Comm comm;
  LoadedPeer peer;  // without a function: not a peer
  bool native() const { return name == "native"; }
  bool is_peer() const { return peer.call != nullptr; }
  bool crossrails() const { return !native() && !is_peer(); }

  template <typename Function>
  Function choose(Function of_mpi, Function of_crossrail) const {
    if (is_peer()) return reinterpret_cast<Function>(peer.call);
    return native() ? of_mpi : of_crossrail;
  }
};

// The calls of one size, as this rank makes them.
struct Exchange {
  std::size_t block;  // bytes from one rank to one other, where not empty; the mean where lengths differ
  int rank, ranks;
  int empty_percent;
  Counts counts;
  const Datatype *sent, *received;
};

struct GrowableBuffer {
  std::size_t send_bytes, recv_bytes;
};

// Of the data: any datatype (Exchange::sent and received); elements of its own in a row; subarrays of complex numbers.
enum class Types { any, own, subarrays };
constexpr std::size_t kComplexBytes = 2 * sizeof(double);

// Bytes a second of the blocks that leave one rank, or come to it.
double sent_to_others(const Exchange& exchange, double seconds);

struct Collective {
  const char* name = nullptr;
  bool lengths_differ = false;    // understands Exchange::empty_percent and counts
  bool in_place = true;           // may have MPI_IN_PLACE for the send buffer on all ranks
  const char* same_as = nullptr;  // collective that is a contender where all blocks are equally long
  // Makes ready for the calls of a size; returns the bytes of this rank's buffers.
  GrowableBuffer (*prepare)(const Exchange& exchange) = nullptr;
  void (*fill)(std::byte* send, const Exchange& exchange, std::uint64_t seed) = nullptr;
  // Wrong blocks in what this rank has received.
  std::uint64_t (*check)(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) = nullptr;
  double (*bandwidth)(const Exchange& exchange, double seconds) = sent_to_others;
  Types types = Types::any;
  const char* carried_as = nullptr;  // the collective whose algorithms carry it, where that has another name
  // The forms (forms.h): the blocking call, the nonblocking one, and the one that makes a persistent request; null where this MPI has none.
  int (*call)(const void* send, void* recv, const Exchange& exchange, const Contender& contender) = nullptr;
  int (*start)(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) = nullptr;
  int (*init)(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) = nullptr;
};

// Runs the collective over all sizes and contenders, prints a table on rank 0 and writes JSON.
// Returns the process's exit code: 1 if any byte was wrong.
int run(const Collective& collective, int argc, char** argv);

}  // namespace bench
