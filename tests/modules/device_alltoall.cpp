// The program tests MPI_Alltoall of buffers in device memory, under an MPI that need not know of devices: every combination of host and device memory
// on the two sides, also differing between ranks; types with gaps; in place; and a driver that is loaded only after the communicator's first call. It
// exits 77 (skipped) where there is no GPU.

#include <cuda_runtime_api.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

int rank, size, wrong;

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  MPI_Abort(MPI_COMM_WORLD, 2);
}

enum class Kind { host, device, pinned, managed };

// Memory may be of any kind. It is filled from the host and read back to it.
struct Memory {
  Memory(std::size_t bytes, Kind kind) : bytes_(bytes), kind_(kind) {
    switch (kind_) {
      case Kind::host: address = std::malloc(bytes_); break;
      case Kind::device: require(cudaMalloc(&address, bytes_), "cudaMalloc"); break;
      case Kind::pinned: require(cudaMallocHost(&address, bytes_), "cudaMallocHost"); break;
      case Kind::managed: require(cudaMallocManaged(&address, bytes_, cudaMemAttachGlobal), "cudaMallocManaged"); break;
    }
  }
  ~Memory() {
    if (kind_ == Kind::host) std::free(address);
    else if (kind_ == Kind::pinned) (void)cudaFreeHost(address);
    else (void)cudaFree(address);
  }
  void fill(const std::vector<int>& from) {
    if (kind_ == Kind::device) require(cudaMemcpy(address, from.data(), bytes_, cudaMemcpyHostToDevice), "to the device");
    else std::memcpy(address, from.data(), bytes_);
  }
  std::vector<int> read() const {
    std::vector<int> to(bytes_ / sizeof(int));
    if (kind_ == Kind::device) require(cudaMemcpy(to.data(), address, bytes_, cudaMemcpyDeviceToHost), "to the host");
    else std::memcpy(to.data(), address, bytes_);
    return to;
  }
  void* address = nullptr;

 private:
  std::size_t bytes_;
  Kind kind_;
};

int value(int from, int to, int at, int round) { return from * 1000003 + to * 10007 + at * 31 + round; }

struct Case {
  int count;
  Kind send, recv;
  bool in_place;
  int stride;  // 1 is contiguous; with 2 it is every second int, and the gaps must stay.
};

constexpr int kPoison = -77;

void run(const Case& test, int round) {
  const int stride = test.stride;
  std::vector<int> send(test.count * stride * size, kPoison), recv(test.count * stride * size, kPoison);
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < test.count; ++at) {
      const int place = (peer * test.count + at) * stride;
      (test.in_place ? recv : send)[place] = value(rank, peer, at, round);
    }
  }
  Memory out(send.size() * sizeof(int) + 64, test.send);
  Memory in(recv.size() * sizeof(int) + 64, test.recv);
  send.resize(send.size() + 16, kPoison);
  recv.resize(recv.size() + 16, kPoison);
  out.fill(send);
  in.fill(recv);
  MPI_Datatype type = MPI_INT;
  if (stride > 1) {
    MPI_Type_create_resized(MPI_INT, 0, stride * static_cast<int>(sizeof(int)), &type);
    MPI_Type_commit(&type);
  }
  MPI_Alltoall(test.in_place ? MPI_IN_PLACE : out.address, test.count, type, in.address, test.count, type, MPI_COMM_WORLD);
  if (stride > 1) MPI_Type_free(&type);
  const std::vector<int> got = in.read();
  for (std::size_t place = 0; place < got.size(); ++place) {
    const int peer = static_cast<int>(place) / stride / std::max(1, test.count);
    const bool gap = place % stride != 0 || peer >= size || test.count == 0;
    const int expected = gap ? kPoison : value(peer, rank, static_cast<int>(place) / stride % test.count, round);
    if (got[place] != expected) ++wrong;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run({5, Kind::host, Kind::host, false, 1}, 0);  // This comes before the driver is loaded.
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    if (rank == 0) std::printf("skipped: no GPU\n");
    MPI_Finalize();
    return 77;
  }
  require(cudaSetDevice(rank % devices), "cudaSetDevice");
  int round = 1;
  constexpr Kind kinds[] = {Kind::host, Kind::device, Kind::pinned, Kind::managed};
  for (const int count : {0, 1, 7, 1000, 100000}) {
    for (const Kind send_kind : kinds) {
      for (const Kind recv_kind : kinds) {
        for (const int stride : {1, 2}) {
          run({count, send_kind, recv_kind, false, stride}, ++round);
          run({count, send_kind, recv_kind, true, stride}, ++round);
          run({count, rank % 2 == 0 ? recv_kind : send_kind, recv_kind, false, stride}, ++round);
        }
      }
    }
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("device alltoall on %d ranks, %d devices: %d wrong\n", size, devices, all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
