// This measures what a call costs when its Shape is new, which is the plan, and what a new communicator costs.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

double slowest(double seconds) {
  double most = 0;
  PMPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most * 1e6;
}

double timed_call(std::vector<char>& send, std::vector<char>& recv, int block, MPI_Comm comm) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  MPI_Alltoall(send.data(), block, MPI_BYTE, recv.data(), block, MPI_BYTE, comm);
  return slowest(MPI_Wtime() - began);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* what, const std::vector<double>& values) {
  std::printf("%-44s p50 %9.1f us  max %9.1f us\n", what, median(values), *std::max_element(values.begin(), values.end()));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  constexpr int kShapes = 60;
  std::vector<char> send(static_cast<std::size_t>(size) * 64 * 1024), recv(send.size());
  std::vector<double> open, first, second;
  for (int round = 0; round < 10; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    open.push_back(timed_call(send, recv, 8, comm));
    MPI_Comm_free(&comm);
  }
  for (int shape = 0; shape < kShapes; ++shape) {
    const int block = 16 + shape;
    first.push_back(timed_call(send, recv, block, MPI_COMM_WORLD));
    second.push_back(timed_call(send, recv, block, MPI_COMM_WORLD));
  }
  if (rank == 0) {
    std::printf("# planning, %d ranks, slowest rank\n", size);
    print("first call on a communicator (set-up and plan)", open);
    print("first call of a Shape (plan and exchange)", first);
    print("second call of a Shape (exchange)", second);
  }
  MPI_Finalize();
  return 0;
}
