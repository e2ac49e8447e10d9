// All benches share this code: command line, timing, statistics and JSON. A bench of a collective is one file with four functions: prepare, fill,
// check and arguments (forms.h).
//
// Contenders take turns batch by batch in one process, all equally often (pace.h), so that their ratio is meaningful on a noisy machine. One
// repetition is a batch of consecutive calls. Its time is that of the slowest rank, divided by the number of calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "datatype.h"

namespace bench {

// A Peer is a function of another library with the signature of the collective, as `--peer NAME=LIBRARY:SYMBOL` names it. If it calls an MPI_ name
// that crossrail replaces, the call goes to a preloaded crossrail. A peer whose own calls are to be measured must call PMPI_.
struct Peer {
  std::string name, library, symbol;
};

using PeerFunction = void (*)();  // It is cast to the type of the collective.

// LoadedPeer is what a peer's library has; peer.h says what for.
struct LoadedPeer {
  PeerFunction call = nullptr;
  void* (*allocate)(std::size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
  double (*seconds)() = nullptr;
  const char* (*version)() = nullptr;
  bool unchecked = false;
};

enum class Memory { host, cuda };

// It says how long the blocks of a size are. Either all are equal, or they follow Zipf's law: rank 0 gets most, rank 1 half as much, rank 2 a third
// as much, and the mean is the size.
enum class Counts { equal, zipf };

// MPI_Alltoall, MPI_Ialltoall and MPI_Alltoall_init are examples. One form of a collective is measured.
enum class Form { blocking, nonblocking, persistent };

struct Options {
  std::size_t min_bytes = 1;
  std::size_t max_bytes = 1 << 20;
  bool half_steps = false;  // From one size to the next, the factor is the square root of two, in multiples of 16 bytes
                            // (kBlockUnit for derived datatypes); otherwise it is two.
  Memory memory = Memory::host;
  std::vector<std::string> contenders;  // By default they are native and auto; in device memory they are only auto, since not every MPI library takes
                                        // it.
  std::vector<Peer> peers;      // They are contenders too, after the others.
  int repetitions = 0;          // Every contender has so many at a size; 0 means as many as fit the time.
  double seconds_a_size = 0.3;  // A contender gets so long at a size, on average, because all have equally many repetitions.
  double most_seconds = 0;      // The whole run may take so long; 0 means no limit. Sizes for which no time is left are left out.
  int buffers = 1;              // So many sets of buffers are used in turn; more than one defeats the caches.
  int ranks = 0;                // The user asked for so many; 0 means that this is not known.
  int empty_percent = 0;        // So many pairs of ranks have an empty block.
  Counts counts = Counts::equal;
  std::string datatype = kContiguous;  // It applies to both sides, or is SENDER:RECEIVER if they differ (datatype.h).
  Form form = Form::blocking;
  bool in_place = false;        // MPI_IN_PLACE is passed as the send buffer.
  bool off_cache = false;       // The buffers are flushed from the caches before every timed call.
  bool slices = false;          // Every call uses another slice of one allocation.
  bool beside = false;          // A kernel of the program's own runs on the device meanwhile.
  bool fresh = false;           // The buffers are allocated before every call and freed after it, and the time includes this.
  int tests = 0;                // So many calls of MPI_Test are in the work between start and wait.
  int processes = 0;            // A GPU has so many in the ping-pong; 0 means another bench.
  std::string output;           // It is a JSON file; if empty, there is only the table.
  std::size_t unit = 1;         // Every block is a multiple of so many bytes, as the collective requires.
};

Options read_options(int argc, char** argv);
std::vector<std::size_t> blocks_of(const Options& options);
// Returns what is wrong with the contenders, or an empty string.
std::string complaint(const Options& options);

struct Statistics {
  double min_us, mean_us, p50_us, p99_us, max_us;
  double low_us, high_us;  // They are the 95 % confidence interval of the median; both are 0 if there are too few batches.
};

// A contender has a communicator of its own. It is native MPI (PMPI_), crossrail's own choice ("auto"), a call that crossrail hands back ("passed"),
// one of its algorithms, with parameters if need be, another collective that makes the same exchange ("alltoall"), or a peer.
struct Contender {
  std::string name;
  MPI_Comm comm;
  LoadedPeer peer;  // Without a function, the contender is no peer.
  bool native() const { return name == "native"; }
  bool is_peer() const { return peer.call != nullptr; }
  bool crossrails() const { return !native() && !is_peer(); }

  template <typename Function>
  Function choose(Function of_mpi, Function of_crossrail) const {
    if (is_peer()) return reinterpret_cast<Function>(peer.call);
    return native() ? of_mpi : of_crossrail;
  }
};

// An Exchange describes the calls of one size, as this rank makes them.
struct Exchange {
  std::size_t block;  // They go from one rank to another unless the block is empty; it is the mean if lengths differ.
  int rank, ranks;
  int empty_percent;
  Counts counts;
  const Datatype *sent, *received;
};

struct GrowableBuffer {
  std::size_t send_bytes, recv_bytes;
};

// The data have any datatype (Exchange::sent and received), elements of the collective's own in a row, or subarrays of complex numbers.
enum class Types { any, own, subarrays };
constexpr std::size_t kComplexBytes = 2 * sizeof(double);

// Returns the bytes per second of the blocks that leave one rank or come to it.
double sent_to_others(const Exchange& exchange, double seconds);

struct Collective {
  const char* name = nullptr;
  bool lengths_differ = false;    // The collective supports Exchange::empty_percent and counts.
  bool in_place = true;           // All ranks may pass MPI_IN_PLACE as the send buffer.
  const char* same_as = nullptr;  // This collective is a contender if all blocks have the same length.
  // Prepares the calls of a size. Returns the bytes of this rank's buffers.
  GrowableBuffer (*prepare)(const Exchange& exchange) = nullptr;
  void (*fill)(std::byte* send, const Exchange& exchange, std::uint64_t seed) = nullptr;
  // Returns the number of wrong blocks in what this rank has received.
  std::uint64_t (*check)(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) = nullptr;
  double (*bandwidth)(const Exchange& exchange, double seconds) = sent_to_others;
  Types types = Types::any;
  const char* carried_as = nullptr;  // It is the collective whose algorithms handle the calls, if that has another name.
  // These are the forms (forms.h): the blocking call, the nonblocking one, and
  // the one that makes a persistent request. They are null if this MPI has none.
  int (*call)(const void* send, void* recv, const Exchange& exchange, const Contender& contender) = nullptr;
  int (*start)(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) = nullptr;
  int (*init)(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) = nullptr;
};

// Runs the collective over all sizes and contenders, prints a table on rank 0 and writes JSON.
// Returns the process's exit code: 1 if any byte was wrong.
int run(const Collective& collective, int argc, char** argv);

}  // namespace bench
