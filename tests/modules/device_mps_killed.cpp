// The program makes collectives on device memory, round after round, until a file says that it is enough or something fails. Meanwhile mps_killed.py
// kills the MPS server or the daemon that has started it, and judges what is said here.
//
//   device_mps_killed abort STOP      errors of MPI calls are fatal; a rank that meets an error of CUDA's calls MPI_Abort
//   device_mps_killed return STOP     MPI calls return errors; a rank that meets any error leaves, without MPI_Finalize
//   device_mps_killed pending STOP    the same by nonblocking calls
//   device_mps_killed finalize STOP   MPI calls return errors; after one of these a rank calls MPI_Finalize, after one of CUDA's MPI_Abort
//   device_mps_killed probe STOP      no collectives: what CUDA's own calls answer, to compare with (device_mps_probe.h)
//
// Every rank says how it ends, in a line "rank N: ended: ...". Wrong data are only those that a call has given without an error.

#include <execinfo.h>
#include <unistd.h>

#include <csignal>

#include "device_mps_probe.h"

namespace {

using namespace device_test;

constexpr std::size_t kBlockBytes[] = {16, 5000, 300000, 1 << 20};
constexpr int kElements[] = {3, 5000, 262144};
constexpr std::size_t kMostBlock = 1 << 20;
constexpr int kMostElements = 262144, kWarmUp = 12;

enum class Then { abort, leave, finalize };
Then after_mpi = Then::leave, after_cuda = Then::leave;
bool pending = false;
MPI_Comm comm = MPI_COMM_NULL;
unsigned long rounds = 0;

// Prints where the program is: at the driver's wish when the job hangs, and when it crashes.
void say_where(int number) {
  say("rank %d: %s signal %d in %s, round %lu; its stack:", rank, number == SIGUSR1 ? "has got" : "WRONG:", number, doing, rounds);
  void* stack[40];
  backtrace_symbols_fd(stack, backtrace(stack, 40), STDOUT_FILENO);
  if (number != SIGUSR1) _exit(3);
}

void listen() {
  void* once[1];
  (void)backtrace(once, 1);  // It loads what it needs now, and not in a handler.
  for (const int number : {SIGUSR1, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, say_where);
}

[[noreturn]] void leave(Then how) {
  if (how == Then::abort) MPI_Abort(MPI_COMM_WORLD, 1);
  if (how == Then::finalize) {
    doing = "MPI_Finalize";
    MPI_Finalize();
    say("rank %d: finalized", rank);
    std::exit(0);
  }
  usleep(1500000);  // The others may still need this one's memory.
  _exit(0);
}

const char* name_of(Then how) { return how == Then::abort ? "MPI_Abort" : how == Then::finalize ? "MPI_Finalize" : "leaves"; }

void cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  say("rank %d: ended: %s says %s (%s), after %lu right rounds; %s", rank, what, cudaGetErrorName(result), cudaGetErrorString(result), rounds, name_of(after_cuda));
  leave(after_cuda);
}

void mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, error_class = 0;
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &error_class);
  say("rank %d: ended: %s returns code %d of class %d (%s), after %lu right rounds; %s; CUDA's own state: %s", rank, what, code, error_class, text, rounds,
      name_of(after_mpi), cudaGetErrorName(cudaPeekAtLastError()));
  leave(after_mpi);
}

[[noreturn]] void wrong_data(const char* what, std::size_t at) {
  say("rank %d: WRONG: %s returned without an error, but the data are wrong from byte %zu on, in round %lu", rank, what, at, rounds);
  MPI_Abort(MPI_COMM_WORLD, 2);
  _exit(2);
}

// This is a buffer on the device, and what is to be there.
struct Side {
  explicit Side(std::size_t most) : image(most), got(most) { cuda(cudaMalloc(&memory, most), "cudaMalloc"); }
  void write(std::size_t bytes) {
    doing = "cudaMemcpy to the device";
    cuda(cudaMemcpy(memory, image.data(), bytes, cudaMemcpyHostToDevice), doing);
  }
  void poison(std::size_t bytes) {
    doing = "cudaMemset";
    cuda(cudaMemset(memory, 0xEE, bytes), doing);
    doing = "cudaStreamSynchronize";
    cuda(cudaStreamSynchronize(nullptr), doing);
  }
  void read(std::size_t bytes) {
    doing = "cudaMemcpy to the host";
    cuda(cudaMemcpy(got.data(), memory, bytes, cudaMemcpyDeviceToHost), doing);
  }
  void compare(std::size_t bytes, const char* what) const {
    const auto end = image.begin() + static_cast<std::ptrdiff_t>(bytes);
    const auto found = std::mismatch(image.begin(), end, got.begin());
    if (found.first != end) wrong_data(what, static_cast<std::size_t>(found.first - image.begin()));
  }
  void* memory = nullptr;
  std::vector<unsigned char> image, got;
};

class Round {
 public:
  // Finds whether rank 0 has asked all to stop. Every rank gets the same answer, by the data under test.
  bool run(bool stop) {
    block_ = kBlockBytes[rounds % std::size(kBlockBytes)];
    count_ = kElements[rounds % std::size(kElements)];
    fill(stop);
    if (pending)
      exchange_pending();
    else
      exchange();
    const bool stopped = check();
    doing = "the program itself";
    ++rounds;
    return stopped;
  }

 private:
  std::size_t all() const { return block_ * static_cast<std::size_t>(size); }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(int); }
  static int value(int of, int at) { return (of + 1) * (at % 1000 + static_cast<int>(rounds % 1000)); }
  static int* ints(Side& side) { return reinterpret_cast<int*>(side.image.data()); }

  void fill(bool stop) {
    for (int peer = 0; peer < size; ++peer) fill_random(send_.image.data() + static_cast<std::size_t>(peer) * block_, block_, block_key(rounds, rank, peer));
    for (int at = 0; at < count_; ++at) ints(given_)[at] = value(rank, at);
    ints(given_)[count_ - 1] = stop ? 1 : 0;
    send_.write(all());
    given_.write(bytes());
    recv_.poison(all());
    sum_.poison(bytes());
    for (int peer = 0; peer < size; ++peer) fill_random(recv_.image.data() + static_cast<std::size_t>(peer) * block_, block_, block_key(rounds, peer, rank));
    for (int at = 0; at < count_; ++at) ints(sum_)[at] = value(0, at) * (size * (size + 1) / 2);
  }
  void exchange() {
    const int block = static_cast<int>(block_);
    doing = "MPI_Alltoall";
    mpi(MPI_Alltoall(send_.memory, block, MPI_BYTE, recv_.memory, block, MPI_BYTE, comm), doing);
    carried_by = last_algorithm();
    doing = "MPI_Allreduce";
    mpi(MPI_Allreduce(given_.memory, sum_.memory, count_, MPI_INT, MPI_SUM, comm), doing);
  }
  void exchange_pending() {
    const int block = static_cast<int>(block_);
    MPI_Request requests[2];
    doing = "MPI_Ialltoall";
    mpi(MPI_Ialltoall(send_.memory, block, MPI_BYTE, recv_.memory, block, MPI_BYTE, comm, &requests[0]), doing);
    doing = "MPI_Iallreduce";
    mpi(MPI_Iallreduce(given_.memory, sum_.memory, count_, MPI_INT, MPI_SUM, comm, &requests[1]), doing);
    doing = "MPI_Wait for MPI_Ialltoall";
    mpi(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), doing);
    carried_by = last_algorithm();
    doing = "MPI_Wait for MPI_Iallreduce";
    mpi(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), doing);
  }
  bool check() {
    recv_.read(all());
    recv_.compare(all(), pending ? "MPI_Ialltoall" : "MPI_Alltoall");
    sum_.read(bytes());
    int last = 0;  // It holds rank 0's wish, which the others cannot know.
    std::memcpy(&last, sum_.got.data() + bytes() - sizeof last, sizeof last);
    if (last == 0 || last == 1) ints(sum_)[count_ - 1] = last;
    sum_.compare(bytes(), pending ? "MPI_Iallreduce" : "MPI_Allreduce");
    return last != 0;
  }

  std::size_t block_ = 0;
  int count_ = 0;
  Side send_{kMostBlock * static_cast<std::size_t>(size)}, recv_{kMostBlock * static_cast<std::size_t>(size)};
  Side given_{kMostElements * sizeof(int)}, sum_{kMostElements * sizeof(int)};
};

void choose(const std::string& mode) {
  pending = mode == "pending";
  if (mode == "abort") after_mpi = after_cuda = Then::abort;
  if (mode == "finalize") after_mpi = Then::finalize;
  if (mode == "finalize") after_cuda = Then::abort;  // The others may be in a call.
}

void run(const char* stop) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (after_mpi != Then::abort) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  Round round;
  while (rounds < kWarmUp) (void)round.run(false);
  say("rank %d: goes on, MPI_Alltoall by %s", rank, carried_by.c_str());
  while (!round.run(rank == 0 && access(stop, F_OK) == 0)) {
  }
  say("rank %d: ended: right, %lu rounds", rank, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  if (argc != 3) return 2;
  listen();
  say("rank %d: process %d, device %d of %d", rank, static_cast<int>(getpid()), own_device, devices);
  const std::string mode = argv[1];
  choose(mode);
  if (mode == "probe") probe(argv[2]);
  run(argv[2]);
  doing = "MPI_Finalize";
  MPI_Comm_free(&comm);
  MPI_Finalize();
  say("rank %d: finalized", rank);
  return 0;
}
