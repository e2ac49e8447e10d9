#include "nccl/stream_turns.h"

#include "nccl/driver.h"

namespace crossrail::nccl {
namespace {

// Asking whether an event has come would spoil what other threads of the program capture.
class Uncaptured {
 public:
  Uncaptured() { exchange(); }
  ~Uncaptured() { exchange(); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  void exchange() {
    if (driver().capture_mode != nullptr) (void)driver().capture_mode(&mode_);
  }
  int mode_ = 2;  // This mode forbids nothing.
};

}  // namespace

// An event that nobody has recorded yet counts as one that has come.
bool StreamTurns::begin(const Place& place) {
  constexpr unsigned kWithoutTimes = 2;
  if (event_ == nullptr && driver().create_event(&event_, kWithoutTimes) != 0) {
    event_ = nullptr;
    return false;
  }
  return place.kind == Place::Kind::captured ? captures_.begin(place, event_) : driver().wait(place.stream, event_, 0) == 0;
}

// The stream may not exist any more when the next call comes, so the event is recorded now.
bool StreamTurns::end(const Place& place) {
  const bool followed = place.kind == Place::Kind::captured ? captures_.end(place, event_) : driver().record(event_, place.stream) == 0;
  if (!followed) unknown_ = true;
  return followed;
}

bool StreamTurns::is_over() const {
  const Uncaptured uncaptured;
  return !unknown_ && !captures_.some_live() && (event_ == nullptr || driver().query(event_) == 0);
}

void StreamTurns::close() {
  if (event_ != nullptr) (void)driver().destroy_event(event_);
  event_ = nullptr;
}

}  // namespace crossrail::nccl
