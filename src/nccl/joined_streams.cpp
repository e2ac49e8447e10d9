#include "nccl/joined_streams.h"

#include <algorithm>

#include "nccl/driver.h"

namespace crossrail::nccl {
namespace {

// A wait is for what was last recorded when it was asked for, so one event does for all streams. The driver keeps what it needs of it.
class Event {
 public:
  Event() {
    constexpr unsigned kWithoutTimes = 2;
    if (!driver().orders_streams || driver().create_event(&event_, kWithoutTimes) != 0) event_ = nullptr;
  }
  ~Event() {
    if (event_ != nullptr) (void)driver().destroy_event(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  bool record(Stream stream) const { return event_ != nullptr && driver().record(event_, stream) == 0; }
  bool wait(Stream stream) const { return driver().wait(stream, event_, 0) == 0; }

 private:
  void* event_ = nullptr;
};

}  // namespace

void JoinedStreams::add(Stream stream) {
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) streams_.push_back(stream);
}

bool JoinedStreams::join() const {
  if (!several()) return true;
  const Event event;
  return std::all_of(streams_.begin() + 1, streams_.end(), [&](Stream other) { return event.record(other) && event.wait(first()); });
}

bool JoinedStreams::part() const {
  if (!several()) return true;
  const Event event;
  return event.record(first()) && std::all_of(streams_.begin() + 1, streams_.end(), [&](Stream other) { return event.wait(other); });
}

}  // namespace crossrail::nccl
