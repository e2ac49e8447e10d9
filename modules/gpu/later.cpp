#include "later.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

#include "base/own_thread.h"

namespace gpu {
namespace {

struct Pending {
  Place* place;
  Leftover leftover;
};

// Lives as long as the process, and longer than its thread, which may wait for a kernel that never ends.
struct Keeper {
  std::mutex mutex;  // of all that follows
  std::condition_variable changed;
  std::vector<Pending> all;
  const Place* clearing = nullptr;  // whose leftovers have been taken and are not done yet
  bool started = false, hurry = false, ends = false, over = false;
  bool patient = true;  // whoever wants it cleared waits longer
};
Keeper& keeper() {
  static Keeper& one = *new Keeper;
  return one;
}

// Kernels that wait for other ranks. The mutex is held while one is launched, and while something is done later.
struct Waiting {
  std::mutex mutex;
  uint64_t launched = 0;
};
Waiting& waiting() {
  static Waiting& one = *new Waiting;
  return one;
}

// Where the context has gone, all that was in it has gone too, but not our mapping of pages.
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

// Those of one place, but not more than `most`. The mutex is held.
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
  for (const Leftover& one : leftovers) do_chore(one, at.result() == kSuccess);
}

// Idle for a moment only, before the program launches the next kernel, is not enough: what is done then would wait for
// that. Twice idle in a row is; or none of many looks has found that, ever more seldom. Nobody else uses the place's marks.
void await_quiet(Place& place) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMoment = std::chrono::microseconds(200), kNoWait = std::chrono::microseconds(100);
  constexpr size_t kLast = 2;  // marks
  const Uncaptured uncaptured;
  constexpr auto kFirstPause = std::chrono::milliseconds(1);
  for (auto pause = kFirstPause;; pause *= 4) {
    const At at(place);
    if (at.result() != kSuccess) return;
    await_idle(place.marks);
    if (place.marks.size() < kLast) return;
    std::this_thread::sleep_for(kMoment);
    const auto began = Clock::now();
    await_idle(place.marks);
    if (Clock::now() - began < kNoWait || place.marks.size() < kLast) return;
    std::unique_lock lock(keeper().mutex);
    keeper().changed.wait_for(lock, pause, [] { return keeper().ends || keeper().hurry; });
    if (keeper().ends) return;
    if (std::exchange(keeper().hurry, false)) pause = kFirstPause;
  }
}

constexpr size_t kFewMarks = 8;
void renew_marks(Place& place) {
  const Uncaptured uncaptured;
  const At at(place);
  if (at.result() == kSuccess) make_marks(place.marks);
}

// Until the place is quiet, and none has been launched that may wait; those that have been launched before are over then. Where one
// call follows the other without a pause, that does not come: in the end it is done between two of them.
std::unique_lock<std::mutex> await_chance(Place& place) {
  constexpr int kMost = 20;
  std::unique_lock none(waiting().mutex);
  for (int look = 0; look < kMost; ++look) {
    const uint64_t before = waiting().launched;
    none.unlock();
    await_quiet(place);
    none.lock();
    if (waiting().launched == before) break;
  }
  return none;
}

// A few at a time: what takes long meets the program's next kernel, and then waits for that.
void clear(Place& place) {
  constexpr size_t kAtATime = 2;
  {
    const std::unique_lock<std::mutex> none_waits = await_chance(place);
    std::unique_lock lock(keeper().mutex);
    if (keeper().ends) return;
    const std::vector<Leftover> leftovers = take(place, kAtATime);
    keeper().clearing = &place;
    lock.unlock();
    do_all(place, leftovers);
    lock.lock();
    keeper().clearing = nullptr;
    keeper().changed.notify_all();
  }
  if (place.marks.size() >= kFewMarks) return;
  const std::unique_lock<std::mutex> none_waits = await_chance(place);
  renew_marks(place);
}

// More often than not there is more to come: a little later there is less to wait for.
void keep_clear() {
  constexpr auto kGather = std::chrono::milliseconds(1);
  Keeper& all = keeper();
  std::unique_lock lock(all.mutex);
  while (true) {
    all.changed.wait(lock, [&] { return all.ends || !all.all.empty(); });
    all.changed.wait_for(lock, kGather, [&] { return all.ends || all.hurry; });
    all.hurry = false;
    if (all.ends) break;
    if (all.all.empty()) continue;
    Place& place = *all.all.front().place;
    lock.unlock();
    clear(place);
    lock.lock();
  }
  all.over = true;
  all.changed.notify_all();
}

// The process ends, and the driver soon too: the thread shall be out of it, if it can.
struct End {
  ~End() {
    constexpr auto kLongest = std::chrono::milliseconds(200);
    Keeper& all = keeper();
    std::unique_lock lock(all.mutex);
    all.ends = true;
    all.changed.notify_all();
    if (all.started) (void)all.changed.wait_for(lock, kLongest, [&] { return all.over; });
  }
};

// False if the system gives no thread.
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

// An idle device may take that long where processors are busy, too. After one that was not idle in time the next is given up sooner.
bool cleared_soon(Place& place) {
  constexpr auto kPatient = std::chrono::milliseconds(30), kImpatient = std::chrono::milliseconds(2);
  Keeper& all = keeper();
  std::unique_lock lock(all.mutex);
  const auto clear = [&] {
    return all.clearing != &place && std::none_of(all.all.begin(), all.all.end(), [&](const Pending& one) { return one.place == &place; });
  };
  if (clear()) return false;
  all.hurry = true;
  all.changed.notify_all();
  const bool cleared = all.changed.wait_for(lock, all.patient ? kPatient : kImpatient, clear);
  all.patient = cleared;
  return cleared;
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
