#include "device_sharing/freed_memory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/own_thread.h"
#include "device/device.h"

namespace crossrail::freed_memory {
namespace {

using Clock = std::chrono::steady_clock;

enum class State {
  watched,
  freed,    // The program has freed it, and peers have been told.
  closing,  // It is being unmapped, which the driver does when the device is idle.
};

struct Watched {
  const void *group, *who;
  crossrail_memory own{};  // It is this process's memory, where there is no mapping.
  std::shared_ptr<Mapping> mapping;
  Notice notice{};
  State state = State::watched;
  void* mapped = nullptr;  // A closing mapping was here.
};

// It lives as long as the process, and so does its thread once it has been started.
struct Watch {
  std::mutex mutex;  // It guards all that follows, and what the thread does.
  std::condition_variable changed;
  std::vector<Watched> all;
  bool started = false;
  std::atomic<bool> ends{false};  // The thread does nothing any more.
};
Watch& watch() {
  static Watch& one = *new Watch;
  return one;
}
std::atomic<bool> some_own{false};  // Some memory of this process has been watched.

bool is_mapped(const void* address) {
  crossrail_memory now{};
  device::module()->describe(address, 0, &now);
  return now.kind != CROSSRAIL_MEMORY_HOST;
}

std::uint64_t holders(const Notice& notice) {
  const std::uint64_t now = notice.holders->load(std::memory_order_acquire);
  return now >> 16 == notice.version ? now & 0xffff : 0;
}

void hold(const Notice& notice) {
  std::uint64_t now = notice.holders->load();
  while (!notice.holders->compare_exchange_weak(now, now >> 16 == notice.version ? now + 1 : notice.version << 16 | 1)) continue;
}

void release(const Notice& notice) {
  std::uint64_t now = notice.holders->load();
  while (now >> 16 == notice.version && (now & 0xffff) != 0 && !notice.holders->compare_exchange_weak(now, now - 1)) continue;
}

void close_mapping(Watched& one) {
  one.mapped = one.mapping->mapped.load();
  one.state = State::closing;
  one.mapping->close();
}

// Returns whether there is nothing left to watch of it.
bool look_at_own(Watched& one) {
  if (one.state == State::watched && is_freed(one.own)) {
    one.notice.freed->store(one.notice.version, std::memory_order_release);
    one.state = State::freed;
  }
  return one.state == State::freed && holders(one.notice) == 0;
}
bool look_at_mapping(Watched& one) {
  if (one.state == State::watched && one.notice.freed->load(std::memory_order_acquire) == one.notice.version) close_mapping(one);
  if (one.state == State::watched || (one.mapped != nullptr && is_mapped(one.mapped))) return false;
  release(one.notice);
  return true;
}

// Nobody asks for it any more. Returns whether there is nothing left to watch of it.
bool is_done_with(Watched& one) {
  one.who = nullptr;
  if (one.mapping == nullptr) return look_at_own(one) || one.state == State::watched;
  const bool has_others = one.mapping.use_count() > 1;  // Other communicators of this process use it.
  if (one.state == State::watched && !has_others) close_mapping(one);
  if (one.state == State::watched) release(one.notice);
  return one.state == State::watched || look_at_mapping(one);
}

// The mutex is held.
void look_at_all() {
  std::erase_if(watch().all, [](Watched& one) { return one.mapping == nullptr ? look_at_own(one) : look_at_mapping(one); });
}

void keep_looking() {
  constexpr auto kPause = std::chrono::milliseconds(10);
  Watch& all = watch();
  std::unique_lock lock(all.mutex);
  while (!all.ends) {
    if (all.all.empty()) all.changed.wait(lock);
    else all.changed.wait_for(lock, kPause);
    if (!all.ends) look_at_all();
  }
}

// At the end of the process the driver goes, and the thread must not ask it any more. It may be in the driver just now, which may never return.
struct End {
  const pid_t process = getpid();
  ~End() {
    constexpr auto kPause = std::chrono::milliseconds(1);
    constexpr int kLongest = 200;
    if (getpid() != process) return;  // A child of fork has no such thread, and nobody knows who holds the mutex.
    watch().ends = true;
    watch().changed.notify_all();
    bool out = false;
    for (int pauses = 0; pauses < kLongest && !out; ++pauses) {
      if (pauses > 0) std::this_thread::sleep_for(kPause);
      out = watch().mutex.try_lock();
    }
    if (out) watch().mutex.unlock();
  }
};

// Returns false if the system gives no thread. The mutex is held.
bool has_started() {
  static End end;
  if (watch().started) return true;
  std::thread made = start_own_thread("crossrail-freed", keep_looking);
  watch().started = made.joinable();
  if (made.joinable()) made.detach();
  return watch().started;
}

// The mutex is held.
bool waits_for_peers() {
  return std::any_of(watch().all.begin(), watch().all.end(), [](const Watched& one) { return one.state == State::freed; });
}

}  // namespace

bool is_freed(const crossrail_memory& memory) {
  crossrail_memory now{};
  device::module()->describe(memory.base, memory.bytes, &now);
  return now.allocation != memory.allocation || now.base != memory.base;
}

void watch_own(const void* group, const void* who, const crossrail_memory& memory, const Notice& notice) {
  const std::unique_lock lock(watch().mutex);
  if (!has_started()) return;
  some_own = true;
  watch().all.push_back({group, who, memory, nullptr, notice});
  watch().changed.notify_all();
}

void watch_mapping(const void* group, const void* who, std::shared_ptr<Mapping> mapping, const Notice& notice) {
  const std::unique_lock lock(watch().mutex);
  if (!has_started()) return;
  hold(notice);
  watch().all.push_back({group, who, {}, std::move(mapping), notice});
  watch().changed.notify_all();
}

void forget(const void* group, const void* who) {
  const std::unique_lock lock(watch().mutex);
  std::erase_if(watch().all, [&](Watched& one) { return one.group == group && one.who == who && is_done_with(one); });
}

void forget_all(const void* group) {
  const std::unique_lock lock(watch().mutex);
  std::erase_if(watch().all, [&](const Watched& one) {
    if (one.group != group) return false;
    if (one.mapping != nullptr) release(one.notice);
    return true;
  });
}

// Drivers unmap when the device is idle, which it may not be for long.
void await_unmapped() {
  constexpr Clock::duration kLongest = std::chrono::seconds(5), kLook = std::chrono::microseconds(200);
  if (!some_own.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(watch().mutex);
  look_at_all();
  const Clock::time_point end = Clock::now() + kLongest;
  while (waits_for_peers() && Clock::now() < end) {
    watch().changed.wait_for(lock, kLook);
    look_at_all();
  }
  std::erase_if(watch().all, [](const Watched& one) { return one.state == State::freed; });  // Nobody waits for them once more.
}

}  // namespace crossrail::freed_memory
