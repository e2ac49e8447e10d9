#include "mpi/observe/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "base/float_mode.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/process_name.h"
#include "base/settings.h"
#include "mpi/observe/counters.h"
#include "mpi/observe/report_json.h"

namespace crossrail::mpi {
namespace {

// The file must be new, so that nothing is written through a link that somebody else has put there.
std::FILE* open_new(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kMode = 0666;
  int descriptor = open(path.c_str(), kFlags, kMode);
  if (descriptor < 0 && errno == EEXIST && unlink(path.c_str()) == 0) descriptor = open(path.c_str(), kFlags, kMode);
  std::FILE* const file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
  if (file == nullptr && descriptor >= 0) close(descriptor);
  return file;
}

bool write_whole(const std::string& path, const std::string& text) {
  std::FILE* const file = open_new(path);
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

// A file beyond the limit is not attempted, since SIGXFSZ would end the program.
bool may_be_so_long(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

// The folder is resolved when the library is loaded, because the program may change its working directory later.
const std::string& report_folder() {
  static const std::string& folder = *new std::string([] {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(process_settings().report, failed);
    return failed ? process_settings().report : absolute.string();
  }());
  return folder;
}

std::string file_of_this_process() {
  return report_folder() + "/" + process_name() + ".json";
}

// The report gets its name only once it is complete, so that nobody who reads the folder finds half of it.
bool replace_report(bool finished) {
  static std::atomic<int> written{0};  // Threads may write at the same time, each to a file of its own.
  const std::string path = file_of_this_process(), unfinished = path + "." + std::to_string(written++) + ".part";
  const QuietFloats quiet;
  const std::string text = report_json(finished);
  errno = EFBIG;
  if (may_be_so_long(text.size()) && write_whole(unfinished, text) && std::rename(unfinished.c_str(), path.c_str()) == 0) return true;
  if (finished) log_line(LogLevel::error, "CROSSRAIL_REPORT: cannot write %s: %s", path.c_str(), strerror(errno));
  (void)unlink(unfinished.c_str());
  return false;
}

constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000, kFilesEachSecond = 1000;

std::atomic<std::uint64_t> calls_in_last_report{0};  // It is as of the report that was written when the process ended.
std::atomic<std::uint64_t> calls_in_this_report{0};  // It is as of the last report that was written meanwhile.
std::atomic<bool> begun{false}, ended{false}, writing{false};

// One thread writes at a time, so that what was counted last is written last. A signal handler that ends the process may have interrupted
// the writing thread, so the wait for it is limited.
class Writing {
 public:
  Writing() {
    constexpr int kTries = 2000;
    for (int tries = 0; writing.exchange(true) && tries < kTries; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~Writing() { writing = false; }
  Writing(const Writing&) = delete;
};

void write_meanwhile() {
  const Writing alone;
  if (ended) return;
  calls_in_this_report = calls_counted();
  (void)replace_report(false);
}

// A forked process begins anew, without the thread.
void forked() {
  calls_in_last_report = calls_in_this_report = 0;
  begun = ended = writing = false;
}

// This makes the report complete however the process ends, except by _exit or a signal.
struct ReportAtExit {
  ReportAtExit() {
    if (reporting()) (void)report_folder();
    (void)pthread_atfork(nullptr, nullptr, forked);
  }
  ~ReportAtExit() {
    if (reporting() && calls_counted() != 0 && calls_counted() != calls_in_last_report.load()) write_report();
  }
} report_at_exit;

// This is what the last report cost: processor time, and elapsed time, which includes waiting for a busy processor or a slow file system.
struct Taken {
  std::int64_t worked_ns, passed_ns;
};

std::int64_t worked_ns() {
  timespec time{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

// The whole job writes at most a thousand files a second, and this process spends at most one part in a hundred of a processor's time and
// one in ten of elapsed time on reports. A program that has just started may crash as soon, so at first reports follow each other more
// closely; slow ones come ten times as late as the one before.
std::int64_t pause_ns(std::int64_t age_ns, const Taken& taken) {
  constexpr std::int64_t kShortest = 5 * kMillisecond, kShareOfWork = 100, kShareOfTime = 10;
  const std::int64_t fair = std::max(taken.worked_ns * kShareOfWork, taken.passed_ns * kShareOfTime);
  return std::max({std::clamp(age_ns, kShortest, kSecond), known_world().size * kSecond / kFilesEachSecond, std::min(fair, 10 * age_ns)});
}

// This runs in a thread from the first call on, so that calls just before a long time without any are written as well.
void keep_report(std::int64_t first_ns) {
  Taken taken{0, now_ns() - first_ns};
  while (!ended) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns(now_ns() - first_ns, taken)));
    if (calls_counted() == calls_in_this_report.load()) continue;
    const std::int64_t began_ns = now_ns(), worked_before_ns = worked_ns();
    write_meanwhile();
    taken = {worked_ns() - worked_before_ns, now_ns() - began_ns};
  }
}

}  // namespace

void write_report() {
  if (!reporting()) return;
  const Writing alone;
  ended = true;
  calls_in_last_report = calls_counted();
  (void)replace_report(true);
}

void write_report_now() {
  if (reporting()) write_meanwhile();
}

void note_counted_call() {
  if (!reporting() || begun.load(std::memory_order_relaxed) || begun.exchange(true)) return;
  const std::int64_t now = now_ns();
  if (known_world().size <= kFilesEachSecond) write_meanwhile();
  std::thread keeper = start_own_thread("crossrail-count", [now] { keep_report(now); });
  if (keeper.joinable()) keeper.detach();
  else log_line(LogLevel::error, "CROSSRAIL_REPORT: no thread, so the report is written at the end only: %s", strerror(errno));
}

}  // namespace crossrail::mpi
