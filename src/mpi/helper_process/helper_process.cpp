// crossrail_helper KEY JOB is a helper process. 'crossrail run --helpers-per-gpu' starts jobs of them beside the program's. Each job has as
// many as the program has ranks, placed alike. Each process waits for a rank of its node (transport/helper_processes.h) and then moves
// messages for it, to and from other helper processes of its job. It sleeps while there are none, and ends when the launcher ends it.

#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include CROSSRAIL_MPI_HEADER

#include "mpi/helper_process/desk_side.h"

namespace crossrail::helper_process {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAwake{2};  // It stays awake this long after the last message.
constexpr int kLooksBetweenChecks = 1 << 16;  // The checks look whether the rank lives.
// Sleeps grow from short ones, because messages that are still in this process's MPI library may have to move.
constexpr int kShortestSleepMs = 1, kLongestSleepMs = 1000;

class HelperProcess {
 public:
  HelperProcess(DeskSide& side, int most_tag) : side_(side), most_tag_(most_tag) {}

  // Serves until the rank has ended. Returns false if the rank has left messages behind.
  bool serve() {
    int sleep = kShortestSleepMs, looks = 0;
    for (bool rank_lives = true; rank_lives;) {
      if (work()) {
        sleep = kShortestSleepMs;
        last_work_ = Clock::now();
        continue;
      }
      sched_yield();
      if (!requests_.empty() && ++looks % kLooksBetweenChecks == 0 && !side_.rank_lives()) {
        cancel();
        return false;
      }
      if (!requests_.empty() || Clock::now() - last_work_ < kAwake) continue;
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      rank_lives = side_.sleep(sleep);
      sleep = std::min(2 * sleep, kLongestSleepMs);
    }
    return !abandoned_;
  }

 private:
  struct UnderWay {
    std::uint64_t number;
    int bytes;  // This is the length of a receive, and -1 for a send.
  };

  // Returns whether there was any work.
  bool work() {
    bool any = false;
    HelperCommand command;
    for (std::uint64_t number = 0; side_.next(command, number); any = true) obey(command, number);
    return test() || any;
  }

  void obey(const HelperCommand& command, std::uint64_t number) {
    switch (command.kind) {
      case HelperCommand::Kind::send:
      case HelperCommand::Kind::receive: return begin(command, number);
      case HelperCommand::Kind::forget_pages:
        if (!abandoned_) side_.forget(command.pages);
        break;
      case HelperCommand::Kind::cancel: cancel(); break;
    }
    side_.say(number, HelperDesk::Outcome::done);
  }

  void begin(const HelperCommand& command, std::uint64_t number) {
    std::byte* const memory = side_.memory(command);
    const int bytes = static_cast<int>(command.bytes), tag = command.tag % most_tag_;
    const bool receive = command.kind == HelperCommand::Kind::receive;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = memory == nullptr ? MPI_ERR_BUFFER
                     : receive        ? MPI_Irecv(memory, bytes, MPI_BYTE, command.peer, tag, MPI_COMM_WORLD, &request)
                                      : MPI_Isend(memory, bytes, MPI_BYTE, command.peer, tag, MPI_COMM_WORLD, &request);
    if (code != MPI_SUCCESS) return side_.say(number, HelperDesk::Outcome::failed);
    requests_.push_back(request);
    under_way_.push_back({number, receive ? bytes : -1});
  }

  bool test() {
    if (requests_.empty()) return false;
    int done = 0;
    ended_.resize(requests_.size());
    statuses_.resize(requests_.size());
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, ended_.data(), statuses_.data());
    if (done == MPI_UNDEFINED || done <= 0) return false;
    for (int one = 0; one < done; ++one) {
      const UnderWay& message = under_way_[static_cast<std::size_t>(ended_[one])];
      side_.say(message.number, code == MPI_ERR_IN_STATUS && statuses_[one].MPI_ERROR != MPI_SUCCESS ? HelperDesk::Outcome::failed : received(message, statuses_[one]));
    }
    drop_ended();
    return true;
  }
  static HelperDesk::Outcome received(const UnderWay& message, const MPI_Status& status) {
    int bytes = 0;
    if (message.bytes >= 0) MPI_Get_count(&status, MPI_BYTE, &bytes);
    return message.bytes < 0 || bytes == message.bytes ? HelperDesk::Outcome::done : HelperDesk::Outcome::wrong_length;
  }
  void drop_ended() {
    std::size_t kept = 0;
    for (std::size_t one = 0; one < requests_.size(); ++one) {
      if (requests_[one] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[one];
      under_way_[kept++] = under_way_[one];
    }
    requests_.resize(kept);
    under_way_.resize(kept);
  }

  // Messages that cannot be cancelled stay, together with the memory that they are in.
  void cancel() {
    for (std::size_t one = 0; one < requests_.size(); ++one) {
      if (under_way_[one].bytes >= 0) MPI_Cancel(&requests_[one]);
    }
    test();
    for (std::size_t one = 0; one < requests_.size(); ++one) {
      abandoned_ = true;
      MPI_Request_free(&requests_[one]);
      side_.say(under_way_[one].number, HelperDesk::Outcome::failed);
    }
    requests_.clear();
    under_way_.clear();
  }

  DeskSide& side_;
  int most_tag_;
  bool abandoned_ = false;
  Clock::time_point last_work_ = Clock::now();
  std::vector<MPI_Request> requests_;
  std::vector<UnderWay> under_way_;
  std::vector<int> ended_;
  std::vector<MPI_Status> statuses_;
};

// Launchers bind this process to the core of the rank that it works beside.
void leave_bound_core() {
  constexpr int kCpus = 8192;
  cpu_set_t* const cpus = CPU_ALLOC(kCpus);
  if (cpus == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(kCpus);
  CPU_ZERO_S(bytes, cpus);
  for (int cpu = 0; cpu < kCpus; ++cpu) CPU_SET_S(cpu, bytes, cpus);
  (void)sched_setaffinity(0, bytes, cpus);
  CPU_FREE(cpus);
}

// The launcher has started this process on its node, and ends it. If the launcher is killed itself, not all MPI libraries say so.
const pid_t launcher = getppid();
void end_without_launcher(int) {
  if (getppid() != launcher) _exit(1);
}
void watch_launcher() {
  constexpr itimerval kEveryTwoSeconds{{2, 0}, {2, 0}};
  struct sigaction action {};
  action.sa_handler = end_without_launcher;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGALRM, &action, nullptr);
  (void)setitimer(ITIMER_REAL, &kEveryTwoSeconds, nullptr);
}

int largest_tag() {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  return found != 0 ? *static_cast<int*>(value) : 32767;
}

int run(const char* key, int job) {
  int rank = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  DeskSide side;
  const DeskSide::Name name{key, job, job == 0 ? 0 : rank, job == 0};
  bool listens = side.listen_at(name);
  if (!listens) std::fprintf(stderr, "crossrail: a helper process cannot listen for its rank\n");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("ready\n");
  std::fflush(stdout);
  leave_bound_core();
  // If a launched script starts several programs, they are served one after the other.
  while (listens && side.accept_rank(rank) && HelperProcess(side, largest_tag()).serve()) {
    side.leave_rank();
    listens = side.listen_at(name);
  }
  // The other helper processes may still be at work, and MPI_Finalize would wait for them: the launcher ends them all.
  for (;;) pause();
}

}  // namespace
}  // namespace crossrail::helper_process

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: crossrail_helper KEY JOB (started by 'crossrail run --helpers-per-gpu')\n");
    return 2;
  }
  crossrail::helper_process::watch_launcher();
  MPI_Init(&count, &words);
  return crossrail::helper_process::run(words[1], std::atoi(words[2]));
}
