// This bench sends messages between two nodes by several processes per GPU, as in figure 5 of "Optimizing Allreduce Operations for Modern
// Heterogeneous Architectures with Multiple Processes per GPU". Each process sends its share of its GPU's buffer to the process in its place on the
// other node, which sends its own share back. The time is half of that of both directions, on the slowest process.
//
//   mpirun -n 16 pingpong_openmpi --processes 4 [--memory cuda] [--min-bytes 1024] [--max-bytes 67108864] [--output FILE]
//
// Sizes are those of a GPU's buffer. With --memory cuda, a share is copied to host memory before it is sent, and to the GPU when it has arrived;
// otherwise it lies in host memory. The ranks of a node are ordered by GPU. If all ranks are on one node, its two halves act as the two nodes.

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "device_memory.h"
#include "harness.h"
#include "hosts.h"
#include "pace.h"
#include "pattern.h"
#include "report.h"
#include "turn.h"

namespace {

using bench::Memory;
using bench::Options;
namespace device = bench::device;

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kPoison{0xA5};
constexpr int kTag = 1;

// A Place says where this process is: its partner, its GPU (a number within its node), and its place among that GPU's processes.
struct Place {
  int rank = 0, ranks = 1, partner = 0, gpu = 0, index = 0, processes = 1;
  bool first = true;           // This process sends first.
  MPI_Comm team = MPI_COMM_NULL;  // It contains the processes of one GPU.
};

// Returns what is wrong with the job, or an empty string. `sides` has the node of every rank.
std::string find_partner(const std::vector<int>& sides, Place& place) {
  const auto mine = static_cast<std::size_t>(place.rank);
  int other = -1, before = 0, here = 0;
  for (std::size_t rank = 0; rank < sides.size(); ++rank) {
    if (sides[rank] == sides[mine]) ++here, before += rank < mine;
    else if (other >= 0 && sides[rank] != other) return "the ping-pong is one between two nodes: there are more";
    else other = sides[rank];
  }
  if (2 * here != place.ranks) return "the two nodes have different numbers of processes";
  if (here % place.processes != 0) return std::to_string(here) + " processes of a node are no whole number of GPUs with " + std::to_string(place.processes) + " each";
  int at = 0;
  for (std::size_t rank = 0; rank < sides.size(); ++rank) {
    if (sides[rank] == other && at++ == before) place.partner = static_cast<int>(rank);
  }
  place.first = sides[mine] < other;
  place.gpu = before / place.processes, place.index = before % place.processes;
  return "";
}

std::string find_place(const Options& options, Place& place) {
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
  place.processes = options.processes;
  if (options.ranks > 0 && options.ranks != place.ranks) return "asked for " + std::to_string(options.ranks) + " ranks, the job has " + std::to_string(place.ranks);
  std::vector<int> sides = bench::first_on_host();
  const bool one_host = std::count(sides.begin(), sides.end(), 0) == place.ranks;
  for (int rank = 0; one_host && rank < place.ranks; ++rank) sides[static_cast<std::size_t>(rank)] = 2 * rank / place.ranks;
  const std::string wrong = find_partner(sides, place);
  if (wrong.empty()) MPI_Comm_split(MPI_COMM_WORLD, sides[static_cast<std::size_t>(place.rank)] * place.ranks + place.gpu, place.rank, &place.team);
  return wrong;
}

bool everywhere(bool mine, MPI_Comm comm = MPI_COMM_WORLD) {
  int all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

void no_memory(std::size_t bytes) {
  std::fprintf(stderr, "bench: there is no memory for a share of %zu bytes\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// A Share is this process's part of the GPU's buffer, one copy to be sent and one to be received into. The first of the GPU's processes owns the
// memory, and the others open it. If they cannot, each has memory of its own.
class Share {
 public:
  Share(const Place& place, Memory memory, std::size_t bytes) : place_(place), on_device_(memory == Memory::cuda) {
    const auto processes = static_cast<std::size_t>(place.processes), index = static_cast<std::size_t>(place.index);
    offset_ = bytes / processes * index + std::min(index, bytes % processes);
    bytes_ = bytes / processes + (index < bytes % processes);
    for (Side& side : sides_) {
      side.host = static_cast<std::byte*>(on_device_ ? device::allocate_pinned(bytes_ + kGuardBytes) : std::malloc(bytes_ + kGuardBytes));
      if (side.host == nullptr) no_memory(bytes_);
      std::memset(side.host, 0, bytes_ + kGuardBytes);  // The pages must be there before time is measured.
      if (on_device_) put_on_device(side, bytes);
    }
  }
  ~Share() {
    for (Side& side : sides_) device::close_shared(side.opened);
    MPI_Barrier(MPI_COMM_WORLD);
    for (Side& side : sides_) {
      device::release(side.owned);
      on_device_ ? device::release_pinned(side.host) : std::free(side.host);
    }
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  std::size_t bytes() const { return bytes_; }
  bool of_one_buffer() const { return one_buffer_; }

  // Sends in one direction and then in the other.
  void exchange() {
    if (place_.first) send(), receive();
    else receive(), send();
  }
  // Sends fresh data. If they do not arrive, they are counted as wrong.
  std::uint64_t checked_exchange(std::uint64_t seed) {
    bench::fill_block(sides_[0].host, bytes_, bench::word_of(place_.rank, place_.partner, seed));
    if (on_device_) device::copy(sides_[0].device, sides_[0].host, bytes_), device::set(sides_[1].device, std::to_integer<int>(kPoison), bytes_);
    if (on_device_) std::memset(sides_[0].host, 0, bytes_);
    std::memset(sides_[1].host, std::to_integer<int>(kPoison), bytes_ + kGuardBytes);
    exchange();
    const std::byte* const guard = sides_[1].host + bytes_;
    std::uint64_t wrong = std::any_of(guard, guard + kGuardBytes, [](std::byte one) { return one != kPoison; });
    if (on_device_) std::memset(sides_[1].host, 0, bytes_), device::copy(sides_[1].host, sides_[1].device, bytes_);
    wrong += !bench::block_is_right(sides_[1].host, bytes_, bench::word_of(place_.partner, place_.rank, seed));
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return wrong;
  }

 private:
  struct Side {
    std::byte *host = nullptr, *device = nullptr;
    void *owned = nullptr, *opened = nullptr;
  };

  void put_on_device(Side& side, std::size_t bytes) {
    device::Handle handle{};
    if (place_.index == 0) side.owned = device::allocate(bytes);
    bool shared = place_.index != 0 || (side.owned != nullptr && (place_.processes == 1 || device::share(side.owned, handle)));
    MPI_Bcast(handle.bytes.data(), static_cast<int>(handle.bytes.size()), MPI_CHAR, 0, place_.team);
    shared = everywhere(shared, place_.team);
    if (shared && place_.index != 0) side.opened = device::open_shared(handle);
    if (everywhere(shared && (place_.index == 0 || side.opened != nullptr))) {
      side.device = static_cast<std::byte*>(place_.index == 0 ? side.owned : side.opened) + offset_;
      return;
    }
    one_buffer_ = false;
    device::close_shared(side.opened);
    side.opened = nullptr;
    MPI_Barrier(MPI_COMM_WORLD);
    device::release(side.owned);
    side.owned = device::allocate(std::max<std::size_t>(bytes_, 1));
    side.device = static_cast<std::byte*>(side.owned);
    if (side.owned == nullptr) no_memory(bytes_);
  }
  void send() {
    if (on_device_) device::copy(sides_[0].host, sides_[0].device, bytes_);
    MPI_Send(sides_[0].host, static_cast<int>(bytes_), MPI_BYTE, place_.partner, kTag, MPI_COMM_WORLD);
  }
  void receive() {
    MPI_Recv(sides_[1].host, static_cast<int>(bytes_), MPI_BYTE, place_.partner, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (on_device_) device::copy(sides_[1].device, sides_[1].host, bytes_);
  }

  const Place& place_;
  bool on_device_, one_buffer_ = true;
  std::size_t offset_ = 0, bytes_ = 0;
  Side sides_[2];  // One is sent and one received.
};

// Returns the seconds of one direction, as the mean of so many exchanges.
double batch(Share& share, int calls) {
  share.exchange();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = bench::now();
  for (int call = 0; call < calls; ++call) share.exchange();
  return (bench::now() - began) / calls / 2;
}

// Returns the seconds of every repetition.
std::vector<double> repeated(const Options& options, Share& share) {
  constexpr int kFewest = 7;  // Fewer than six give no interval.
  std::vector<double> seconds;
  const double began = bench::now();
  const bench::Contest contest{1, [&](std::size_t, int calls) { return 2 * bench::slowest(batch(share, calls)); },
                               [&](std::size_t, int calls) { seconds.push_back(batch(share, calls)); }, [began] { return bench::slowest(bench::now() - began); }};
  const bench::Effort effort{options.seconds_a_size, options.repetitions, 400e-6, kFewest, kFewest};
  bench::take_turns(contest, effort, bench::find_paces(contest, effort));
  return seconds;
}

bench::Row measured(const Options& options, const Place& place, std::size_t bytes) {
  static std::uint64_t seed = 0;
  static bool told = false;
  Share share(place, options.memory, bytes);
  if (!share.of_one_buffer() && !told && place.rank == 0) {
    std::fprintf(stderr, "bench: the processes of a GPU have buffers of their own, since they cannot open its memory\n");
  }
  told = told || !share.of_one_buffer();
  std::uint64_t wrong = share.checked_exchange(++seed);
  const std::vector<double> seconds = repeated(options, share);
  wrong += share.checked_exchange(++seed);
  bench::Row row{bytes, options.memory == Memory::cuda ? "staged" : "host", options.memory == Memory::cuda ? "host_copies" : "host_memory",
                 bench::statistics_of(seconds), static_cast<int>(seconds.size()), 0, wrong, true};
  row.bandwidth = static_cast<double>(bytes) / (row.times.p50_us * 1e-6);
  row.processes = place.processes;
  return row;
}

// Returns what is wrong with the options, or an empty string.
std::string problem_of(const Options& options) {
  if (options.processes < 1) return "--processes is the number of processes of a GPU, at least 1";
  if (options.max_bytes / static_cast<std::size_t>(options.processes) >= INT_MAX) return "a share is less than 2 GiB";
  return bench::blocks_of(options).empty() ? "there is no size to measure" : "";
}

void run_sizes(const Options& options, const Place& place, bench::Report& report) {
  const double began = bench::now();
  for (const std::size_t bytes : bench::blocks_of(options)) {
    if (!everywhere(options.most_seconds <= 0 || bench::now() - began < options.most_seconds)) return report.cut_short(bytes);
    report.add(measured(options, place, bytes));
    report.keep();
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Options options = bench::read_options(argc, argv);
  if (options.most_seconds > 0) alarm(static_cast<unsigned>(3 * options.most_seconds) + 60);
  Place place;
  std::string wrong = problem_of(options);
  if (wrong.empty()) wrong = find_place(options, place);
  else MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  if (!wrong.empty() && place.rank == 0) std::fprintf(stderr, "bench: %s\n", wrong.c_str());
  bool ready = wrong.empty();
  if (ready && options.memory == Memory::cuda) {
    const std::string problem = device::open(place.gpu);
    if (!problem.empty() && place.rank == 0) std::fprintf(stderr, "bench: %s\n", problem.c_str());
    ready = problem.empty();
  }
  if (!everywhere(ready)) {
    MPI_Finalize();
    return 2;
  }
  bench::Report report("pingpong", options, place.rank);
  run_sizes(options, place, report);
  const bool right = report.finish();
  MPI_Comm_free(&place.team);
  MPI_Finalize();
  return right ? 0 : 1;
}
