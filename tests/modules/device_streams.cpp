// The program tests MPI_Alltoall while it uses its devices otherwise, or sees them in another order.
//
//   device_streams busy [CALLS]      large copies run on the program's own streams
//   device_streams threads [CALLS]   another thread makes and frees memory and waits for the device
//   device_streams visible           every process sees one device, which is its number 0
//   device_streams rotated           every process sees the devices in another order
//   device_streams split [COMMS]     many communicators: halves, reversed, short-lived ones

#include <unistd.h>

#include <atomic>
#include <thread>

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBlockBytes[] = {16, 5000, 300000, 64, 2 * kMiB};

std::uint64_t rounds;

// These are streams of the program, with hundreds of MiB that go to and fro on them.
class Load {
 public:
  Load() {
    for (One& one : all_) {
      require(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      require(cudaMalloc(&one.from, kBytes), "cudaMalloc");
      require(cudaMalloc(&one.to, kBytes), "cudaMalloc");
      require(cudaMallocHost(&one.host, kBytes / 8), "cudaMallocHost");
    }
  }
  ~Load() {
    for (One& one : all_) {
      require(cudaStreamDestroy(one.stream), "cudaStreamDestroy");
      require(cudaFree(one.from), "cudaFree");
      require(cudaFree(one.to), "cudaFree");
      require(cudaFreeHost(one.host), "cudaFreeHost");
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Adds some tens of milliseconds of work.
  void add(int salt) {
    for (int i = 0; i < 8; ++i) {
      for (One& one : all_) {
        require(cudaMemsetAsync(one.from, salt + i, kBytes, one.stream), "cudaMemsetAsync");
        require(cudaMemcpyAsync(one.to, one.from, kBytes, cudaMemcpyDeviceToDevice, one.stream), "cudaMemcpyAsync");
        require(cudaMemcpyAsync(one.host, one.to, kBytes / 8, cudaMemcpyDeviceToHost, one.stream), "cudaMemcpyAsync");
        require(cudaMemcpyAsync(one.to, one.host, kBytes / 8, cudaMemcpyHostToDevice, one.stream), "cudaMemcpyAsync");
      }
    }
    last_ = salt + 7;
  }
  bool busy() const {
    for (const One& one : all_) {
      if (cudaStreamQuery(one.stream) == cudaErrorNotReady) return true;
    }
    return false;
  }
  void check() {
    std::vector<unsigned char> got(kBytes);
    for (One& one : all_) {
      require(cudaStreamSynchronize(one.stream), "cudaStreamSynchronize");
      require(cudaMemcpy(got.data(), one.to, kBytes, cudaMemcpyDeviceToHost), "to the host");
      const auto expected = static_cast<unsigned char>(last_);
      if (!std::all_of(got.begin(), got.end(), [&](unsigned char byte) { return byte == expected; })) {
        complain("the program's own copies went wrong");
      }
    }
  }

 private:
  static constexpr std::size_t kBytes = 256 * kMiB;
  struct One {
    cudaStream_t stream;
    void *from, *to, *host;
  };
  One all_[4];
  int last_ = 0;
};

std::string call_text(int i) { return "call " + std::to_string(i); }

void run_busy(int calls) {
  Load load;
  std::vector<Exchange*> exchanges;
  for (const std::size_t bytes : kBlockBytes) exchanges.push_back(new Exchange({bytes, Kind::device, Kind::device}));
  int still_busy = 0;
  for (int i = 0; i < calls; ++i) {
    Exchange& exchange = *exchanges[static_cast<std::size_t>(i) % exchanges.size()];
    exchange.fill(++rounds);
    if (!load.busy()) load.add(i);
    if (const int code = exchange.run(); code != MPI_SUCCESS) complain("call %d: error %d", i, code);
    still_busy += load.busy();
    exchange.check(call_text(i).c_str());
  }
  load.check();
  for (Exchange* exchange : exchanges) delete exchange;
  std::printf("rank %d: %d of %d calls ended before the program's own streams did\n", rank, still_busy, calls);
}

void disturb(const std::atomic<bool>& ended) {
  require(cudaSetDevice(own_device), "cudaSetDevice");
  for (int i = 1; !ended; ++i) {
    void* made = nullptr;
    require(cudaMalloc(&made, static_cast<std::size_t>(i % 32 + 1) * kMiB), "cudaMalloc");
    require(cudaMemsetAsync(made, i, kMiB, cudaStreamPerThread), "cudaMemsetAsync");
    if (i % 3 == 0) require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require(cudaFree(made), "cudaFree");
    if (i % 5 == 0) usleep(200);
  }
}

void run_threads(int calls) {
  std::atomic<bool> ended{false};
  std::thread other(disturb, std::cref(ended));
  for (int i = 0; i < calls; ++i) {
    const std::size_t bytes = kBlockBytes[static_cast<std::size_t>(i) % std::size(kBlockBytes)];
    Exchange({bytes, Kind::device, i % 7 == 0 ? Kind::pool_default : Kind::device, i % 3 == 0})
        .once(++rounds, call_text(i).c_str());
  }
  ended = true;
  other.join();
}

void run_some() {
  for (int i = 0; i < 100; ++i) {
    const std::size_t bytes = kBlockBytes[static_cast<std::size_t>(i) % std::size(kBlockBytes)];
    const Kind kind = i % 4 == 3 ? kKinds[static_cast<std::size_t>(i / 4) % std::size(kKinds)] : Kind::device;
    Exchange({bytes, kind, Kind::device, i % 3 == 0}).once(++rounds, call_text(i).c_str());
  }
}

void run_short_lived(int i) {
  MPI_Comm comm;
  if (i % 3 == 0)
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
  else if (i % 3 == 1)
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  else
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Call call{kBlockBytes[static_cast<std::size_t>(i) % 3], Kind::device, Kind::device, i % 5 == 0};
  call.comm = comm;
  Exchange(call).once(++rounds, call_text(i).c_str());
  MPI_Comm_free(&comm);
}

// Calls run on several communicators in turn, then on short-lived ones. Nothing may grow.
void run_split(int comms) {
  MPI_Comm live[4];
  MPI_Comm_dup(MPI_COMM_WORLD, &live[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &live[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, -rank, &live[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &live[3]);
  for (int i = 0; i < 100; ++i) {
    Call call{kBlockBytes[static_cast<std::size_t>(i / 4) % std::size(kBlockBytes)], Kind::device, Kind::device,
              i % 7 == 0};
    call.comm = live[i % 4];
    Exchange(call).once(++rounds, call_text(i).c_str());
  }
  Use before;
  for (int i = 0; i < comms; ++i) {
    if (i == comms / 10) before = use_now();
    run_short_lived(i);
  }
  check_use(before, use_now());
  for (MPI_Comm& comm : live) MPI_Comm_free(&comm);
}

// Before MPI and CUDA begin, this starts the program again, with its own view of the devices.
void see_own_devices(char** argv) {
  const char* number = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const int local_rank = number == nullptr ? 0 : std::atoi(number);
  int count = 0;
  while (access(("/dev/nvidia" + std::to_string(count)).c_str(), F_OK) == 0) ++count;
  if (count == 0 || std::getenv("DEVICE_STREAMS_AGAIN") != nullptr) return;
  std::string seen = std::to_string(local_rank % count);
  for (int i = 1; i < count && std::strcmp(argv[1], "rotated") == 0; ++i) {
    seen.append(",").append(std::to_string((local_rank + i) % count));
  }
  setenv("CUDA_VISIBLE_DEVICES", seen.c_str(), 1);
  setenv("DEVICE_STREAMS_AGAIN", "1", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "busy";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool own_view = mode == "visible" || mode == "rotated";
  if (own_view) see_own_devices(argv);
  if (!start(&argc, &argv)) return kSkip;
  if (mode == "rotated") require(cudaSetDevice(own_device = 0), "cudaSetDevice");
  if (mode == "busy")
    run_busy(number > 0 ? number : 200);
  else if (mode == "threads")
    run_threads(number > 0 ? number : 500);
  else if (mode == "split")
    run_split(number > 0 ? number : 2000);
  else if (own_view)
    run_some();
  else
    complain("there is no mode '%s'", mode.c_str());
  return finish(("device_streams " + mode).c_str());
}
