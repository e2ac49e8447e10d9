#include "mpi/statistics/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/statistics/compared_json.h"
#include "mpi/statistics/traffic.h"

namespace crossrail::mpi {
namespace {

std::atomic<CallCounter*> first_counter{nullptr};
std::atomic<int> world_rank{-1};
std::atomic<int> world_size{-1};
std::atomic<std::uint64_t> calls_since_report{0};
thread_local std::int64_t entered_at_ns = 0;

// Whatever way the process ends, short of _exit and signals, it has written its report. The calls before a fork are
// the parent's.
struct ReportAtExit {
  ReportAtExit() {
    (void)pthread_atfork(nullptr, nullptr, [] { calls_since_report = 0; });
  }
  ~ReportAtExit() {
    if (calls_since_report.load() != 0) write_report();
  }
} report_at_exit;

}  // namespace

CallCounter::CallCounter(const char* name, const char* interface) : name_(name), interface_(interface) {
  next_ = first_counter.load();
  while (!first_counter.compare_exchange_weak(next_, this)) {
  }
}

void CallCounter::add(const Carried& carried, std::int64_t nanoseconds) {
  const bool failed = carried.done && carried.code != 0;
  (failed ? errors_ : carried.done ? carried_ : native_).fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);
  bytes_.fetch_add(carried.block_bytes, std::memory_order_relaxed);
  calls_since_report.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t below = carried.block_bytes > 1 ? carried.block_bytes - 1 : 0;
  histogram_[std::bit_width(below) % kSizes].fetch_add(1, std::memory_order_relaxed);
  for (AlgorithmCount& slot : algorithms_) {
    const char* name = nullptr;
    if (slot.name.compare_exchange_strong(name, carried.algorithm) || name == carried.algorithm) {
      slot.calls.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

bool counting() {
  static const bool on = !process_settings().report.empty();
  return on;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t clock_entry() { return entered_at_ns = counting() ? now_ns() : 0; }

std::int64_t entered_ns() { return entered_at_ns; }

void note_world(int rank, int size) {
  world_rank = rank;
  world_size = size;
}

void ask_world() {
  int rank = 0, size = 0, initialized = 0, finalized = 0;
  if (!counting() || world_size.load() >= 0) return;
  if (pmpi().Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return;
  if (pmpi().Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
  if (pmpi().Comm_rank(handles().comm_world, &rank) != MPI_SUCCESS) return;
  if (pmpi().Comm_size(handles().comm_world, &size) == MPI_SUCCESS) note_world(rank, size);
}

// Reads the private counters of all entry points.
struct Report {
  static std::string call(const CallCounter& counter) {
    char text[512];
    std::snprintf(text, sizeof text,
                  "{\"name\":\"%s\",\"interface\":\"%s\",\"carried\":%llu,\"native\":%llu,\"errors\":%llu,"
                  "\"seconds\":%.9f,\"bytes\":%llu,\"histogram\":{",
                  counter.name_, counter.interface_, number(counter.carried_), number(counter.native_),
                  number(counter.errors_), seconds(inside_ns(counter)),
                  number(counter.bytes_));
    std::string json = text;
    const char* comma = "";
    for (int size = 0; size < CallCounter::kSizes; ++size) {
      if (counter.histogram_[size].load() == 0) continue;
      std::snprintf(text, sizeof text, "%s\"%llu\":%llu", comma, 1ull << size, number(counter.histogram_[size]));
      json += text;
      comma = ",";
    }
    json += "},\"algorithms\":{";
    comma = "";
    for (const auto& slot : counter.algorithms_) {
      if (slot.name.load() == nullptr) break;
      std::snprintf(text, sizeof text, "%s\"%s\":%llu", comma, slot.name.load(), number(slot.calls));
      json += text;
      comma = ",";
    }
    return json + "}" + overlap(counter) + "}";
  }

  // Of nonblocking and persistent calls, by who has carried them.
  static std::string overlap(const CallCounter& counter) {
    std::string json;
    const auto part = [&json](const char* by, const Overlap::Times& times) {
      char text[256];
      if (times.calls == 0) return;
      std::snprintf(text, sizeof text, "%s\"%s\":{\"calls\":%llu,\"starting\":%.9f,\"waiting\":%.9f,\"under_way\":%.9f}",
                    json.empty() ? "" : ",", by, static_cast<unsigned long long>(times.calls), seconds(times.starting_ns),
                    seconds(times.waiting_ns), seconds(times.under_way_ns));
      json += text;
    };
    part("crossrail", counter.overlap_.times());
    part("native", counter.native_overlap_.times());
    return json.empty() ? json : ",\"overlap\":{" + json + "}";
  }

  // What the program spent inside such calls.
  static std::int64_t inside_ns(const CallCounter& counter) {
    const Overlap::Times own = counter.overlap_.times(), native = counter.native_overlap_.times();
    return static_cast<std::int64_t>(counter.nanoseconds_.load()) + own.starting_ns + own.waiting_ns + native.starting_ns + native.waiting_ns;
  }

  static std::string all() {
    std::string json;
    for (const CallCounter* at = first_counter.load(); at != nullptr; at = at->next_) {
      if (at->carried_.load() + at->native_.load() + at->errors_.load() == 0) continue;
      json += (json.empty() ? "" : ",") + call(*at);
    }
    return json;
  }

 private:
  static double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
  static unsigned long long number(const std::atomic<std::uint64_t>& value) { return value.load(); }
};

namespace {

// Never through a link that somebody else has put there.
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

std::string host_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return host;
}

}  // namespace

// Under another name first: who reads the folder, or this process's end, never finds half of it.
void write_report() {
  if (!counting()) return;
  static std::atomic<int> written{0};  // by several threads at a time
  calls_since_report = 0;
  const std::string host = host_name(), pid = std::to_string(static_cast<int>(getpid()));
  const std::string path = process_settings().report + "/" + host + "." + pid + ".json";
  const std::string unfinished = path + "." + std::to_string(written++) + ".part";
  const std::string text = "{\"rank\":" + std::to_string(world_rank.load()) + ",\"world_size\":" + std::to_string(world_size.load()) +
                           ",\"host\":\"" + host + "\",\"pid\":" + pid + ",\"mpi\":\"" + library().version + "\",\"flavour\":\"" +
                           library().flavour + "\",\"calls\":[" + Report::all() + "],\"plans\":" + traffic_json() +
                           ",\"compared\":" + compared_json() + "}\n";
  if (write_whole(unfinished, text) && std::rename(unfinished.c_str(), path.c_str()) == 0) return;
  log_line(LogLevel::error, "CROSSRAIL_REPORT: cannot write %s: %s", path.c_str(), strerror(errno));
  (void)unlink(unfinished.c_str());
}

}  // namespace crossrail::mpi
