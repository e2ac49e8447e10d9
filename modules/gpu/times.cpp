#include "times.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpu {
namespace {

// The clocks of host and device drift apart by some microseconds a second.
constexpr int64_t kComparedEachNs = 250'000'000;
constexpr int kTries = 4;
constexpr int64_t kLongestTryNs = 200'000;  // An idle device needs a few microseconds, but others may have it now.

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// The host sees an event a little after its time. So that time is taken as when the last look began that did not see it yet.
bool host_time(Stream stream, Event event, int64_t& host_ns, int64_t& width_ns) {
  const int64_t began = now_ns();
  if (driver().record_event(event, stream) != kSuccess) return false;
  host_ns = began;
  while (true) {
    const int64_t looked = now_ns();
    const Result result = driver().query_event(event);
    width_ns = std::max<int64_t>(now_ns() - host_ns, 1);
    if (result == kSuccess) return true;
    if (result != kNotReady || looked - began > kLongestTryNs) return false;
    host_ns = looked;
  }
}

}  // namespace

const char* Times::make_events() {
  for (Piece& piece : pieces_) {
    GPU_TRY(make_timed_event(&piece.before));
    GPU_TRY(make_timed_event(&piece.behind));
  }
  for (Moment* moment : {&first_, &latest_, &trial_, &best_}) GPU_TRY(make_timed_event(&moment->event));
  return nullptr;
}

const char* Times::open(Stream stream) {
  if (!driver().elapsed || !driver().query_event || !driver().record_event) return text(kNotSupported);
  const char* const wrong = make_events();
  if (wrong == nullptr) compare_clocks(stream);
  else close();
  return wrong;
}

void Times::close() {
  const auto destroy = [](Event& event) {
    if (event != nullptr) (void)driver().destroy_event(event);
    event = nullptr;
  };
  for (Piece& piece : pieces_) {
    destroy(piece.before);
    destroy(piece.behind);
  }
  for (Moment* moment : {&first_, &latest_, &trial_, &best_}) destroy(moment->event);
}

// Compares only while the stream is empty, when what is recorded there comes at once. All pieces are over then, and counted from the moment
// before.
void Times::compare_clocks(Stream stream) {
  const int64_t now = now_ns();
  if (compared_ns_ != 0 && now - compared_ns_ < kComparedEachNs) return;
  if (driver().query_stream(stream) != kSuccess) return;
  settle_all();
  compared_ns_ = now;
  best_.width_ns = 0;
  for (int tries = 0; tries < kTries && host_time(stream, trial_.event, trial_.host_ns, trial_.width_ns); ++tries) {
    if (best_.width_ns == 0 || trial_.width_ns < best_.width_ns) std::swap(best_, trial_);
  }
  constexpr int64_t kDrift = 100'000;  // It is a nanosecond in this many, or more, if their pace is not known.
  const bool worse = latest_.width_ns != 0 && best_.width_ns > latest_.width_ns + (best_.host_ns - latest_.host_ns) / kDrift;
  if (best_.width_ns != 0 && !worse) accept(best_);
}

// The very first one stays, for the pace.
void Times::accept(Moment& found) {
  if (first_.width_ns == 0) std::swap(first_, latest_);
  std::swap(latest_, found);
  find_pace();
}

// Finds the pace once the time between is so long that it tells more than what is known anyway: clocks do not go wrong by more than that.
void Times::find_pace() {
  constexpr double kPrecise = 1e-5, kMost = 1e-3;
  float elapsed_ms = 0;
  const auto between = static_cast<double>(latest_.host_ns - first_.host_ns);
  if (first_.width_ns == 0 || static_cast<double>(first_.width_ns + latest_.width_ns) > kPrecise * between) return;
  if (driver().elapsed(&elapsed_ms, first_.event, latest_.event) != kSuccess || elapsed_ms <= 0) return;
  const double pace = between / (1e6 * static_cast<double>(elapsed_ms));
  if (std::abs(pace - 1) < kMost) pace_ = pace;
}

// Work of a stream is done in order. Rounding may break that order, so it is put right.
int Times::settle(Piece& piece) {
  if (piece.state == State::known) return 1;
  if (piece.state != State::ended) return -1;
  float took_ms = 0, since_ms = 0;
  Result result = driver().query_event(piece.behind);
  if (result == kNotReady) return 0;
  if (result == kSuccess) result = driver().elapsed(&took_ms, piece.before, piece.behind);
  if (result == kSuccess) result = driver().elapsed(&since_ms, latest_.event, piece.before);
  if (result != kSuccess) {
    piece.state = State::none;
    return -1;
  }
  const double factor = 1e6 * pace_;
  const int64_t began = latest_.host_ns + std::llround(factor * static_cast<double>(since_ms));
  const int64_t ended = began + std::llround(factor * static_cast<double>(took_ms));
  piece.times.began_ns = std::max(began, last_ended_ns_);
  piece.times.ended_ns = last_ended_ns_ = std::max(ended, piece.times.began_ns);
  piece.state = State::known;
  return 1;
}

// Settles pieces as far as they are over.
void Times::settle_all() {
  settled_ = std::max(settled_, last_ < kPieces ? 0 : last_ - kPieces);
  while (settled_ < last_ && settle(piece_of(settled_ + 1)) != 0) ++settled_;
}

const char* Times::begin(Stream stream, uint64_t* piece) {
  settle_all();
  compare_clocks(stream);
  if (latest_.width_ns == 0) return "the clocks of host and device could not be compared";
  Piece& next = piece_of(last_ + 1);
  next.state = State::none;
  next.number = ++last_;
  GPU_TRY(driver().record_event(next.before, stream));
  next.state = State::begun;
  *piece = last_;
  return nullptr;
}

const char* Times::end(Stream stream) {
  Piece& piece = piece_of(last_);
  if (piece.state != State::begun && piece.state != State::ended) return nullptr;
  piece.state = State::none;
  GPU_TRY(driver().record_event(piece.behind, stream));
  piece.state = State::ended;
  return nullptr;
}

int Times::look(uint64_t piece, crossrail_times* times) {
  Piece& one = piece_of(piece);
  const int known = one.number == piece ? settle(one) : -1;
  if (known == 1) *times = one.times;
  return known;
}

}  // namespace gpu
