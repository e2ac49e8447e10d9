// These things may go wrong on another rank while this one is in an MPI_Alltoall of device memory.
//
//   device_killed before [ALGORITHM]   rank 1 is killed before its call: the others wait for it
//   device_killed middle [ALGORITHM]   rank 1 is killed somewhere in a loop of calls
//   device_killed full [MIB]           no room on a device but this little (50; less may hang it)
//
// The survivors must get an error within seconds, and find their device free. Each says so in a line "survivor: right": without rank 1, MPI_Finalize
// need not return. The test needs a launcher that leaves the survivors alone: mpirun --mca orte_enable_recovery 1.

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <memory>

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr double kMostSeconds = 5;
constexpr std::size_t kMiB = 1 << 20;

std::uint64_t rounds;
const char* stuck_in = "";

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void when_in(double seconds, void (*action)(int)) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  std::signal(SIGALRM, action);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void die(int) { kill(getpid(), SIGKILL); }

void give_up(int) {
  char text[200];
  const int length = std::snprintf(text, sizeof text, "rank %d: survivor: WRONG: stuck in %s\n", rank, stuck_in);
  (void)!write(STDOUT_FILENO, text, static_cast<std::size_t>(length));
  _exit(3);
}

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

Exchanges make_exchanges(MPI_Comm comm, std::initializer_list<std::size_t> sizes) {
  Exchanges made;
  for (const std::size_t bytes : sizes) {
    Call call{bytes, Kind::device, Kind::device};
    call.comm = comm;
    made.push_back(std::make_unique<Exchange>(call));
  }
  return made;
}

// Returns the code of the first call that fails. Data are right until then.
int code_of_failure(const Exchanges& exchanges) {
  for (std::size_t i = 0;; ++i) {
    Exchange& exchange = *exchanges[i % exchanges.size()];
    exchange.fill(++rounds);
    if (const int code = exchange.run(); code != MPI_SUCCESS) return code;
    exchange.check("before the error");
  }
}

void check_device() {
  stuck_in = "the device, which is not free";
  when_in(10, give_up);
  void* made = nullptr;
  std::vector<unsigned char> got(kMiB, 1);
  const cudaError_t results[] = {cudaDeviceSynchronize(),
                                 cudaMalloc(&made, 64 * kMiB),
                                 cudaMemset(made, 0, 64 * kMiB),
                                 cudaMemcpy(got.data(), made, got.size(), cudaMemcpyDeviceToHost),
                                 cudaFree(made),
                                 cudaGetLastError()};
  for (const cudaError_t result : results) {
    if (result != cudaSuccess) complain("the device afterwards: %s", cudaGetErrorString(result));
  }
  if (std::count(got.begin(), got.end(), 0) != static_cast<long>(got.size())) complain("the device does not keep data");
}

[[noreturn]] void survive(const Exchanges& exchanges, double killed_at) {
  stuck_in = "MPI_Alltoall, no error came";
  when_in(killed_at - seconds_now() + kMostSeconds + 1, give_up);
  const int code = code_of_failure(exchanges);
  const double late = seconds_now() - killed_at;
  if (late < 0 || late > kMostSeconds) complain("the error came %.2f s after the end of rank 1", late);
  check_device();
  when_in(0, SIG_DFL);
  std::printf("rank %d: survivor: %s: code %d after %.2f s\n", rank, wrong == 0 ? "right" : "WRONG", code, late);
  std::fflush(stdout);
  usleep(1500000);  // The others may still need this one's memory.
  _exit(wrong == 0 ? 0 : 3);
}

void run_killed(bool before, const char* algorithm) {
  MPI_Comm comm;
  force_algorithm(algorithm);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const Exchanges exchanges = make_exchanges(comm, {16, 300000, 1000, 4 * kMiB});
  for (int i = 0; i < 3; ++i) {
    for (const auto& exchange : exchanges) {
      exchange->once(++rounds, "all alive");
      if (rank == 0 && i == 0) std::printf("carried by %s\n", last_algorithm());
    }
  }
  std::fflush(stdout);
  double killed_at = seconds_now() + 0.7;  // All processes of a machine have one clock.
  MPI_Bcast(&killed_at, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank != 1) survive(exchanges, killed_at);
  when_in(std::max(0.001, killed_at - seconds_now()), die);
  while (before) pause();
  (void)code_of_failure(exchanges);
  std::printf("rank 1: WRONG: an error before its end\n");
  std::fflush(stdout);
  _exit(3);
}

// Takes the memory of this rank's device except so much.
std::vector<void*> fill_device(std::size_t left_bytes) {
  std::vector<void*> taken;
  for (std::size_t bytes = std::size_t{16} << 30; bytes >= kMiB && taken.size() < 200;) {
    std::size_t available = 0, total = 0;
    require(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    void* made = nullptr;
    if (available >= bytes + left_bytes && cudaMalloc(&made, bytes) == cudaSuccess)
      taken.push_back(made);
    else
      bytes /= 2;
  }
  (void)cudaGetLastError();
  return taken;
}

// The exchanges have little managed memory: a device that is asked for more of it than it has free may hang.
Exchanges exchanges_of_kinds(MPI_Comm comm) {
  constexpr std::pair<Kind, Kind> kUsed[] = {
      {Kind::device, Kind::device},      {Kind::managed, Kind::device},
      {Kind::device, Kind::managed},     {Kind::pool_default, Kind::pool_default},
      {Kind::chunks, Kind::pool_shared}, {Kind::host, Kind::device}};
  Exchanges made;
  for (const auto& [send, recv] : kUsed) {
    for (const std::size_t bytes : {16, 5000, 300000}) {
      Call call{bytes, send, recv};
      call.comm = comm;
      made.push_back(std::make_unique<Exchange>(call));
      made.back()->fill(++rounds);
    }
  }
  return made;
}

// The buffers are there before the device is full; what a library needs for itself is not.
void run_full(const char* what, bool fills, std::size_t left_bytes) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const Exchanges exchanges = exchanges_of_kinds(comm);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::vector<void*> taken = fills ? fill_device(left_bytes) : std::vector<void*>();
  std::size_t available = 0, total = 0;
  require(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  MPI_Barrier(MPI_COMM_WORLD);
  for (const auto& exchange : exchanges) exchange->once(++rounds, what);
  std::printf("rank %d: %s: %zu MiB free, last by %s\n", rank, what, available / kMiB, last_algorithm());
  MPI_Barrier(MPI_COMM_WORLD);
  for (void* one : taken) require(cudaFree(one), "cudaFree");
  for (const auto& exchange : exchanges) exchange->once(++rounds, "room again");
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  const std::string mode = argc > 1 ? argv[1] : "middle";
  if (mode != "full") run_killed(mode == "before", argc > 2 && std::strcmp(argv[2], "auto") != 0 ? argv[2] : "");
  const std::size_t left_bytes = kMiB * static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 50);
  run_full("one device full", rank == 0, left_bytes);
  run_full("all devices full", rank < devices, left_bytes);
  run_full("no device full", false, left_bytes);
  return finish("device_killed full");
}
