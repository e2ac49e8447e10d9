#include "later.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>

#include "base/own_thread.h"
#include "closing.h"

namespace gpu {
namespace {

struct Pending {
  Place* place;
  Leftover leftover;
};

using Clock = std::chrono::steady_clock;

// It lives as long as the process, and longer than its thread, which may wait for a kernel that never ends.
struct Keeper {
  std::mutex mutex;  // It guards all that follows.
  std::condition_variable changed;
  std::vector<Pending> all;
  const Place* clearing = nullptr;  // Its leftovers have been taken and are not done yet.
  Place* visited = nullptr;         // A thread of the program's waits for it in a call.
  uint64_t visits = 0;
  bool started = false, ends = false, over = false;
  Clock::time_point next_visit{};
  Clock::duration pause{};  // It comes before the next visit.
};
Keeper& keeper() {
  static Keeper& one = *new Keeper;
  return one;
}

// These are kernels that wait for other ranks. The mutex is held while one is launched, and while something is done later.
struct Waiting {
  std::mutex mutex;
  uint64_t launched = 0;
};
Waiting& waiting() {
  static Waiting& one = *new Waiting;
  return one;
}

// If the context has gone, all that was in it has gone too, but not our mapping of pages.
void do_chore(const Leftover& leftover, bool context_lives) {
  const Address at = leftover.at;
  if (context_lives) {
    switch (leftover.chore) {
      case Chore::free_memory: (void)driver().free(at); break;
      case Chore::close_mapping: (void)driver().ipc_close(at); break;
      case Chore::unregister_pages: (void)driver().unregister_host(pointer(at)); break;
      case Chore::free_host: (void)driver().free_host(pointer(at)); break;
    }
  }
  if (leftover.chore == Chore::unregister_pages) munmap(pointer(at), leftover.bytes);
}

// Takes the leftovers of one place, but not more than `most`. The mutex is held.
std::vector<Leftover> take(const Place& place, size_t most = SIZE_MAX) {
  std::vector<Leftover> taken;
  std::erase_if(keeper().all, [&](const Pending& one) {
    const bool takes = one.place == &place && taken.size() < most;
    if (takes) taken.push_back(one.leftover);
    return takes;
  });
  return taken;
}

void do_all(const Place& place, const std::vector<Leftover>& leftovers) {
  const Uncaptured uncaptured;
  const At at(place);
  const Closing mappings(leftovers);
  for (const Leftover& one : leftovers) do_chore(one, at.result() == kSuccess);
}

bool has_some(const Place& place) {
  return std::any_of(keeper().all.begin(), keeper().all.end(), [&](const Pending& one) { return one.place == &place; });
}

// Returns whether there is too much to wait for a visit. The mutex is held.
bool crowded() {
  constexpr size_t kMost = size_t{512} << 20, kLeast = size_t{2} << 20;  // They are in bytes. The second is what the driver maps at least.
  size_t bytes = 0;
  for (const Pending& one : keeper().all) bytes += std::max(one.leftover.bytes, kLeast);
  return bytes > kMost;
}

// Does a few of the place's leftovers, with `lock`, the mutex, given back meanwhile. It also makes marks for those that looking has used
// up.
void clear_some(std::unique_lock<std::mutex>& lock, Place& place) {
  constexpr size_t kAtATime = 2;  // What takes long holds up the thread that waits, or meets the program's next kernel.
  const std::vector<Leftover> leftovers = take(place, kAtATime);
  keeper().clearing = &place;
  lock.unlock();
  do_all(place, leftovers);
  const Uncaptured uncaptured;
  if (const At at(place); at.result() == kSuccess) make_marks(place.marks);
  lock.lock();
  keeper().clearing = nullptr;
}

// Looks once whether the device is idle, which lasts until it is. By then the visitor may have gone on, another one come, and the device
// have got more to do. If the device was idle all the same, and this thread late, because processors are busy, it is worth another try
// soon. Nobody else uses the place's marks.
void serve_visit(Place& place, uint64_t number) {
  constexpr Clock::duration kNoWait = std::chrono::microseconds(200), kSoon = std::chrono::milliseconds(10);
  std::unique_lock none(waiting().mutex);
  const uint64_t before = waiting().launched;
  none.unlock();
  const bool sees = place.marks.loaded.size() > 1;
  const auto began = Clock::now();
  if (sees) {
    const Uncaptured uncaptured;
    if (const At at(place); at.result() == kSuccess) await_idle(place.marks);
  }
  const auto looked = Clock::now();
  none.lock();
  std::unique_lock lock(keeper().mutex);
  if (keeper().visits != number || keeper().visited == nullptr) {
    if (!sees || looked - began > kNoWait) return;
    keeper().pause = {};
    keeper().next_visit = std::min(keeper().next_visit, looked + kSoon);
    return;
  }
  if (sees && waiting().launched == before && !keeper().ends) clear_some(lock, place);
  else keeper().visited = nullptr;
  keeper().changed.notify_all();
}

// It is not enough that the device is idle for a moment only, before the program launches the next kernel: what is done then would wait for
// that. It is enough that it is idle twice in a row. It is also enough that none of many looks, which become less and less frequent, has
// found that. The function returns false if there is something else to do.
bool await_quiet(Place& place) {
  constexpr auto kMoment = std::chrono::microseconds(200), kNoWait = std::chrono::microseconds(100);
  constexpr size_t kLast = 2;  // It counts marks.
  const Uncaptured uncaptured;
  for (auto pause = std::chrono::milliseconds(1);; pause *= 4) {
    const At at(place);
    if (at.result() != kSuccess) return true;
    await_idle(place.marks);
    if (place.marks.loaded.size() < kLast) return true;
    std::this_thread::sleep_for(kMoment);
    const auto began = Clock::now();
    await_idle(place.marks);
    if (Clock::now() - began < kNoWait || place.marks.loaded.size() < kLast) return true;
    std::unique_lock lock(keeper().mutex);
    if (keeper().changed.wait_for(lock, pause, [] { return keeper().ends || keeper().visited != nullptr; })) return false;
  }
}

// Clears at a moment when the place is quiet, and no kernel has been launched that may wait. Those that have been launched before are over
// then. If one call follows the other without a pause, that moment does not come, and in the end it is done between two of them.
void clear_unseen(Place& place) {
  constexpr int kMost = 20;
  std::unique_lock none(waiting().mutex);
  for (int look = 0; look < kMost; ++look) {
    const uint64_t before = waiting().launched;
    none.unlock();
    if (!await_quiet(place)) return;
    none.lock();
    if (waiting().launched == before) break;
  }
  std::unique_lock lock(keeper().mutex);
  if (!keeper().ends) clear_some(lock, place);
  keeper().changed.notify_all();
}

bool visit_waits() { return keeper().visited != nullptr && has_some(*keeper().visited); }

void keep_clear() {
  constexpr auto kGather = std::chrono::milliseconds(5);  // A visit may come, which is better.
  Keeper& all = keeper();
  std::unique_lock lock(all.mutex);
  while (true) {
    all.changed.wait(lock, [&] { return all.ends || visit_waits() || crowded(); });
    if (!visit_waits()) all.changed.wait_for(lock, kGather, [&] { return all.ends || visit_waits(); });
    if (all.ends) break;
    const bool visited = visit_waits();
    if (!visited && !crowded()) continue;
    Place& place = visited ? *all.visited : *all.all.front().place;
    const uint64_t number = all.visits;
    lock.unlock();
    if (visited) serve_visit(place, number);
    else clear_unseen(place);
    lock.lock();
  }
  all.over = true;
  all.changed.notify_all();
}

// This is the visitor's side. It does nothing if somebody else visits. The mutex is held. It returns whether there is nothing left any
// more. What has begun holds the driver's locks, and the visitor waits for it. It does not wait for long, since another thread of the
// program's may have launched a kernel that it has met.
// If the device was busy, the next visit comes later, each time by four times as much. So looks are few, and until one ends, launches take
// some 10 us longer.
bool visit(std::unique_lock<std::mutex>& lock, Place& place, Clock::duration longest) {
  constexpr Clock::duration kEnd = std::chrono::milliseconds(10), kFirstPause = std::chrono::milliseconds(100), kLastPause = std::chrono::hours(1);
  Keeper& all = keeper();
  if (all.visited != nullptr || Clock::now() < all.next_visit) return false;
  const size_t before = all.all.size();
  all.visited = &place;
  ++all.visits;
  all.changed.notify_all();
  (void)all.changed.wait_for(lock, longest, [&] { return all.visited != &place || (all.clearing != &place && !has_some(place)); });
  all.visited = nullptr;
  (void)all.changed.wait_for(lock, kEnd, [&] { return all.clearing != &place; });
  const bool some_done = all.all.size() < before && all.clearing == nullptr;
  all.pause = some_done ? Clock::duration{} : std::clamp(4 * all.pause, kFirstPause, kLastPause);
  all.next_visit = Clock::now() + all.pause;
  return all.clearing != &place && !has_some(place);
}

// The process ends, and the driver soon too. The thread shall be out of it, if it can.
struct End {
  const pid_t process = getpid();
  ~End() {
    constexpr auto kLongest = std::chrono::milliseconds(200);
    Keeper& all = keeper();
    if (getpid() != process) return;  // A child of fork has no such thread, and nobody knows who holds the mutex.
    std::unique_lock lock(all.mutex);
    all.ends = true;
    all.changed.notify_all();
    if (all.started) (void)all.changed.wait_for(lock, kLongest, [&] { return all.over; });
  }
};

// It returns false if the system gives no thread.
bool start() {
  static End end;
  std::thread made = crossrail::start_own_thread("crossrail-later", keep_clear);
  keeper().started = made.joinable();
  if (made.joinable()) made.detach();
  return keeper().started;
}

}  // namespace

void do_later(Place& place, const Leftover& leftover) {
  if (!place.marked) return do_all(place, {leftover});
  Keeper& all = keeper();
  std::unique_lock lock(all.mutex);
  if (!all.started && !start()) {
    lock.unlock();
    return do_all(place, {leftover});
  }
  all.all.push_back({&place, leftover});
  all.changed.notify_all();
}

// An idle device may take that long where processors are busy, too. What is refused comes seldom, and a call in a stream's order fails for
// it. So a look is due at once, and the next as long as they help.
bool cleared_soon(Place& place) {
  constexpr Clock::duration kPatient = std::chrono::milliseconds(30);
  Keeper& all = keeper();
  std::unique_lock lock(all.mutex);
  bool some_done = false;
  for (bool helps = true; helps && has_some(place); some_done = some_done || helps) {
    const size_t before = all.all.size();
    all.next_visit = {};
    helps = visit(lock, place, kPatient) || all.all.size() < before;
  }
  return some_done;
}

void settle(Place& place) {
  constexpr Clock::duration kLongest = std::chrono::microseconds(500);
  std::unique_lock lock(keeper().mutex);
  if (has_some(place)) (void)visit(lock, place, kLongest);
}

LaunchOfWaiting::LaunchOfWaiting(bool waits) : waits_(waits) {
  if (!waits_) return;
  waiting().mutex.lock();
  ++waiting().launched;
}

LaunchOfWaiting::~LaunchOfWaiting() {
  if (waits_) waiting().mutex.unlock();
}

bool catch_up(Place& place) {
  std::unique_lock lock(keeper().mutex);
  const std::vector<Leftover> leftovers = take(place);
  lock.unlock();
  do_all(place, leftovers);
  return !leftovers.empty();
}

}  // namespace gpu
