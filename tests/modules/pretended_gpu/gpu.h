// modules/gpu/times.cpp asks this of a driver, by a device that is none. Its clock has a beginning and a pace of its own, and its work takes as long
// as the test says.
#pragma once

#include <time.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace gpu {

enum Result { kSuccess, kNotReady, kNotSupported, kBroken };
using Stream = void*;

// An event has a time on the device's clock, once the stream has come there.
struct PretendedEvent {
  bool recorded = false;
  std::int64_t device_ns = 0;
};
using Event = PretendedEvent*;

struct Pretended {
  double pace = 1;              // It is the nanoseconds of the device in one of the host's.
  std::int64_t began_ns = 0;    // It is the host's time when the device's clock was 0.
  std::int64_t free_ns = 0;     // It is the host's time when the stream is empty.
  bool hangs = false;           // It never will be empty.
  int live_events = 0, records_fail = 0, makes_left = 1000;
};
inline Pretended device;

inline std::int64_t host_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}
inline std::int64_t host_time_of(const PretendedEvent& event) { return device.began_ns + static_cast<std::int64_t>(static_cast<double>(event.device_ns) / device.pace); }
inline bool reached(const PretendedEvent& event) { return event.recorded && !device.hangs && host_now() >= host_time_of(event); }

template <class... Arguments>
struct Entry {
  Result (*at)(Arguments...) = nullptr;
  Result operator()(Arguments... arguments) const { return at == nullptr ? kNotSupported : at(arguments...); }
  explicit operator bool() const { return at != nullptr; }
};

inline Result record(Event event, Stream) {
  if (device.records_fail != 0) return kBroken;
  const std::int64_t when = host_now() > device.free_ns ? host_now() : device.free_ns;
  *event = {true, static_cast<std::int64_t>(static_cast<double>(when - device.began_ns) * device.pace)};
  return kSuccess;
}
inline Result between(float* ms, Event from, Event to) {
  if (!from->recorded || !to->recorded || to->device_ns < from->device_ns) return kBroken;
  if (!reached(*from) || !reached(*to)) return kNotReady;
  *ms = static_cast<float>(static_cast<double>(to->device_ns - from->device_ns) / 1e6);
  return kSuccess;
}

struct Driver {
  Entry<Event, Stream> record_event{record};
  Entry<Event> query_event{[](Event event) { return reached(*event) ? kSuccess : kNotReady; }};
  Entry<Event> destroy_event{[](Event event) {
    delete event;
    --device.live_events;
    return kSuccess;
  }};
  Entry<float*, Event, Event> elapsed{between};
  Entry<Stream> query_stream{[](Stream) { return !device.hangs && host_now() >= device.free_ns ? kSuccess : kNotReady; }};
};
inline Driver the_driver;
inline const Driver& driver() { return the_driver; }

inline Result make_timed_event(Event* event) {
  if (--device.makes_left < 0) return kBroken;
  *event = new PretendedEvent;
  ++device.live_events;
  return kSuccess;
}

}  // namespace gpu

#include "../pretended_try.h"
