// This measures MPI_Fetch_and_op on a rank that waits in a collective call. The target's MPI library has to make progress for the message meanwhile,
// as it does while it waits itself. Rank 0 performs the operations on the last rank, which is already in MPI_Alltoall like all others, and then joins
// them. The calls are made with crossrail (MPI_Alltoall) and without (PMPI_Alltoall) in turns, and the sums are checked.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr int kOperations = 200, kTurns = 11;

struct Window {
  MPI_Win handle = MPI_WIN_NULL;
  long* base = nullptr;
  long expected = 0;  // It is the target's value after what rank 0 has added.
  bool right = true;
};

struct Blocks {
  std::vector<char> send, recv;
  int length = 0;
};

// Returns the microseconds of one operation, on rank 0 only.
double time_operations(Window& window, int target) {
  const double began = MPI_Wtime();
  for (int i = 0; i < kOperations; ++i) {
    const long one = 1;
    long before = -1;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, window.handle);
    MPI_Win_flush(target, window.handle);
    window.right &= before == window.expected++;
  }
  return (MPI_Wtime() - began) * 1e6 / kOperations;
}

template <class Alltoall>
double one_turn(Alltoall&& alltoall, Window& window, Blocks& blocks, int rank, int target) {
  alltoall(blocks.send.data(), blocks.length, MPI_BYTE, blocks.recv.data(), blocks.length, MPI_BYTE, MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  const double each = rank == 0 ? time_operations(window, target) : 0;
  alltoall(blocks.send.data(), blocks.length, MPI_BYTE, blocks.recv.data(), blocks.length, MPI_BYTE, MPI_COMM_WORLD);
  return each;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns whether everything that rank 0 received was right.
bool compare(const char* kind, Window& window, int length, int rank, int size) {
  Blocks blocks{std::vector<char>(static_cast<std::size_t>(size) * length), std::vector<char>(static_cast<std::size_t>(size) * length), length};
  std::vector<double> native, ours;
  MPI_Win_lock_all(0, window.handle);
  for (int turn = 0; turn < kTurns; ++turn) {
    native.push_back(one_turn(PMPI_Alltoall, window, blocks, rank, size - 1));
    ours.push_back(one_turn(MPI_Alltoall, window, blocks, rank, size - 1));
  }
  MPI_Win_unlock_all(window.handle);
  if (rank == 0)
    std::printf("%-17s %8d B  native %9.2f us  crossrail %9.2f us  %5.2f times as long%s\n", kind, length, median(native), median(ours),
                median(ours) / median(native), window.right ? "" : "  WRONG");
  return window.right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1, name_length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(name, &name_length);
  if (rank == 0) std::printf("# %d ranks, %.24s\n", size, name);
  bool right = true;
  for (const bool allocated : {false, true}) {
    Window window;
    std::vector<long> own(8, 0);
    if (allocated)
      MPI_Win_allocate(64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window.base, &window.handle);
    else
      MPI_Win_create(own.data(), 64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window.handle);
    if (allocated) std::fill(window.base, window.base + 8, 0);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (const int length : {8, 65536}) right &= compare(allocated ? "MPI_Win_allocate" : "MPI_Win_create", window, length, rank, size);
    MPI_Win_free(&window.handle);
  }
  MPI_Finalize();
  return rank == 0 && !right ? 1 : 0;
}
