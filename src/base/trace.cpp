#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/host_name.h"
#include "base/log.h"

namespace crossrail::trace {

std::atomic<bool> is_on{false};

namespace {

constexpr std::uint64_t kFewestEvents = 16, kMostEvents = std::uint64_t{1} << 26;
constexpr std::uint64_t kEventsAChunk = 4096;  // The file grows by this many events at a time.
constexpr std::size_t kTexts = 256, kTextBytes = 96;
constexpr std::uint64_t kBeingWritten = std::uint64_t{1} << 63;

struct Event {
  std::atomic<std::uint64_t> number;  // It is 0 if the place is empty, and has kBeingWritten until the fields are there.
  std::atomic<std::int64_t> began_ns, ended_ns;  // `ended_ns` is 0 until the event has ended.
  std::atomic<std::uint64_t> bytes, of;
  std::atomic<std::uint16_t> name, algorithm, native_because, kind;  // Texts are numbered from 1.
  std::atomic<std::int32_t> peer, ranks;
  std::atomic<std::uint32_t> thread, unused;
};
static_assert(sizeof(Event) == 64);

struct Head {
  char format[8];
  std::uint64_t capacity;
  std::atomic<std::uint64_t> begun;  // It counts the events.
  std::int64_t monotonic_ns, realtime_ns;  // Both are of the same time.
  std::atomic<std::int32_t> rank, world_size;
  std::int32_t process, unused;
  char host[256];
};

struct File {
  union {
    Head head;
    char page[4096];
  };
  char texts[kTexts][kTextBytes];
  // The events follow.
};
static_assert(sizeof(File) == 4096 + kTexts * kTextBytes);

struct Ring {
  File* file = nullptr;
  Event* events = nullptr;
  int descriptor = -1;
  std::uint64_t capacity = 0;
  std::atomic<std::uint64_t> room{0};  // The file has room for this many events.
  std::mutex mutex;                    // It is held while making more room.
  std::atomic<std::uint32_t> threads{0};
  std::atomic<const char*> known[kTexts] = {};
};

std::atomic<Ring*> ring{nullptr};
std::atomic<bool> tried{false};

constexpr std::size_t bytes_for(std::uint64_t events) { return sizeof(File) + events * sizeof(Event); }

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Room is made explicitly. A page fault would end the program if the file system is full, and so would growing beyond the limit, which
// raises SIGXFSZ.
bool make_room(Ring& all, std::uint64_t events) {
  rlimit limit{};
  const std::size_t bytes = bytes_for(events);
  errno = EFBIG;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) return false;
  const std::size_t had = all.room.load() == 0 ? 0 : bytes_for(all.room.load());
  errno = posix_fallocate(all.descriptor, static_cast<off_t>(had), static_cast<off_t>(bytes - had));
  if (errno == 0) all.room.store(events, std::memory_order_release);
  return errno == 0;
}

bool fail(const std::string& path) {
  log_line(LogLevel::error, "CROSSRAIL_TRACE: cannot write %s: %s", path.c_str(), strerror(errno));
  is_on = false;
  return false;
}

// The name may exist, because a process number may have been another process's before. The file must be new, so that nothing is written
// through a link that somebody else has put there.
int create(const std::string& start, std::string& path) {
  constexpr int kMostNames = 1000;
  for (int name = 0; name < kMostNames; ++name) {
    path = start + (name == 0 ? "" : "." + std::to_string(name)) + ".trace";
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

void fill_head(Head& head, std::uint64_t capacity) {
  head.capacity = capacity;
  head.monotonic_ns = read_clock(CLOCK_MONOTONIC);
  head.realtime_ns = read_clock(CLOCK_REALTIME);
  head.rank = head.world_size = -1;
  head.process = static_cast<std::int32_t>(getpid());
  std::string host = host_name();
  host.resize(std::min(host.size(), sizeof head.host - 1));
  std::copy(host.begin(), host.end(), head.host);
  constexpr char kFormat[] = {'c', 'r', 't', 'r', 'a', 'c', 'e', '1'};
  std::copy(kFormat, kFormat + sizeof kFormat, head.format);
}

bool map(Ring& all, const std::string& path) {
  const std::uint64_t first = std::min(all.capacity, kEventsAChunk);
  if (!make_room(all, first)) return fail(path);
  // Pages behind the end of the file are not touched before it has grown.
  void* const mapped = mmap(nullptr, bytes_for(all.capacity), PROT_READ | PROT_WRITE, MAP_SHARED, all.descriptor, 0);
  if (mapped == MAP_FAILED) return fail(path);
  all.file = static_cast<File*>(mapped);
  all.events = reinterpret_cast<Event*>(all.file + 1);
  fill_head(all.file->head, all.capacity);
  return true;
}

bool grow(Ring& all, std::uint64_t index) {
  const std::lock_guard lock(all.mutex);
  if (!on()) return false;
  if (index < all.room.load()) return true;
  const std::uint64_t wanted = std::min(all.capacity, (index / kEventsAChunk + 1) * kEventsAChunk);
  return make_room(all, wanted) || fail("more of the trace of this process");
}

// Texts are told apart by their addresses, since they are constants and few.
std::uint16_t text_number(Ring& all, const char* text) {
  if (text == nullptr) return 0;
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15ull) >> 56;
  for (std::size_t step = 0; step < kTexts; ++step) {
    const std::size_t at = (first + step) % kTexts;
    const char* there = all.known[at].load(std::memory_order_relaxed);
    if (there == nullptr && all.known[at].compare_exchange_strong(there, text)) {
      const std::size_t length = std::min(strlen(text), kTextBytes - 1);
      std::copy(text, text + length, all.file->texts[at]);
      return static_cast<std::uint16_t>(at + 1);
    }
    if (there == text) return static_cast<std::uint16_t>(at + 1);
  }
  return 0;
}

std::uint32_t this_thread(Ring& all) {
  static thread_local std::uint32_t number = 0;
  if (number == 0) number = all.threads.fetch_add(1) + 1;
  return number;
}

// Returns null if the event has made room for a later one.
Event* find(Ring* all, Number event) {
  if (all == nullptr || event == 0) return nullptr;
  Event& one = all->events[(event - 1) % all->capacity];
  return one.number.load(std::memory_order_acquire) == event ? &one : nullptr;
}

// Returns false if a slower thread still writes an earlier event there, or a faster one has written a later one, because two events must
// not mix.
bool take(Event& place, Number event) {
  std::uint64_t there = place.number.load(std::memory_order_acquire);
  while ((there & kBeingWritten) == 0 && there < event) {
    if (place.number.compare_exchange_weak(there, event | kBeingWritten, std::memory_order_acquire)) return true;
  }
  return false;
}

// A forked process does not write to its parent's file.
void forget() {
  is_on = false;
  ring = nullptr;
  tried = false;
}

}  // namespace

std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

void open(const std::string& folder, std::uint64_t most_events) {
  if (tried.exchange(true)) return;
  static std::once_flag once;
  std::call_once(once, [] { (void)pthread_atfork(nullptr, nullptr, forget); });
  auto made = std::make_unique<Ring>();
  made->capacity = std::clamp(most_events, kFewestEvents, kMostEvents);
  std::string path;
  made->descriptor = create(folder + "/" + host_name() + "." + std::to_string(static_cast<int>(getpid())), path);
  if (made->descriptor < 0) {
    (void)fail(path);
    return;
  }
  if (!map(*made, path)) {
    close(made->descriptor);
    (void)unlink(path.c_str());
    return;
  }
  ring = made.release();  // It lives as long as the process.
  is_on = true;
}

void set_world(int rank, int size) {
  Ring* const all = ring.load();
  if (all == nullptr) return;
  all->file->head.rank = rank;
  all->file->head.world_size = size;
}

Number begin(const What& what) {
  Ring* const all = ring.load(std::memory_order_acquire);
  if (all == nullptr || !on()) return 0;
  const std::uint64_t index = all->file->head.begun.fetch_add(1, std::memory_order_relaxed);
  if (index < all->capacity && index >= all->room.load(std::memory_order_acquire) && !grow(*all, index)) return 0;
  Event& one = all->events[index % all->capacity];
  if (!take(one, index + 1)) return 0;
  // A reader of what a killed process has left must not take the rest for the event before.
  std::atomic_thread_fence(std::memory_order_release);
  one.ended_ns.store(0, std::memory_order_relaxed);
  one.bytes.store(what.bytes, std::memory_order_relaxed);
  one.of.store(what.of, std::memory_order_relaxed);
  one.name.store(text_number(*all, what.name), std::memory_order_relaxed);
  one.algorithm.store(0, std::memory_order_relaxed);
  one.native_because.store(0, std::memory_order_relaxed);
  one.kind.store(static_cast<std::uint16_t>(what.kind), std::memory_order_relaxed);
  one.peer.store(what.peer, std::memory_order_relaxed);
  one.ranks.store(0, std::memory_order_relaxed);
  one.thread.store(this_thread(*all), std::memory_order_relaxed);
  one.began_ns.store(what.began_ns != 0 ? what.began_ns : now_ns(), std::memory_order_relaxed);
  one.number.store(index + 1, std::memory_order_release);
  return index + 1;
}

void tell(Number event, const Known& known) {
  Ring* const all = ring.load(std::memory_order_acquire);
  Event* const one = find(all, event);
  if (one == nullptr) return;
  if (known.algorithm != nullptr) one->algorithm.store(text_number(*all, known.algorithm), std::memory_order_relaxed);
  if (known.native_because != nullptr) one->native_because.store(text_number(*all, known.native_because), std::memory_order_relaxed);
  if (known.bytes != 0) one->bytes.store(known.bytes, std::memory_order_relaxed);
  if (known.ranks != 0) one->ranks.store(known.ranks, std::memory_order_relaxed);
}

void end(Number event) {
  Event* const one = find(ring.load(std::memory_order_acquire), event);
  std::int64_t not_ended = 0;
  if (one != nullptr) one->ended_ns.compare_exchange_strong(not_ended, now_ns(), std::memory_order_relaxed);
}

void add_on_device(Number event, std::int64_t began_ns, std::int64_t ended_ns) {
  Ring* const all = ring.load(std::memory_order_acquire);
  const Event* const asked = find(all, event);
  if (asked == nullptr) return;
  const std::uint16_t name = asked->name.load(std::memory_order_relaxed);
  Event* const one = find(all, begin({nullptr, Kind::on_device, asked->bytes.load(std::memory_order_relaxed), -1, event, began_ns}));
  if (one == nullptr) return;
  one->name.store(name, std::memory_order_relaxed);
  one->ended_ns.store(ended_ns, std::memory_order_release);
}

}  // namespace crossrail::trace
