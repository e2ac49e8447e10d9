// This says when the device has done pieces of work of a stream, for a trace. It has events with times before and behind each piece, and
// moments at which both clocks are known. Nothing waits for work here. The place's context is current in all of it, and nothing is
// captured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

class Times {
 public:
  // Makes all events at once, before there is work: a driver that needs memory for them may wait for the device.
  const char* open(Stream stream);
  void close();

  const char* begin(Stream stream, uint64_t* piece);
  const char* end(Stream stream);  // It ends the last piece, and again where more work of it has followed.
  int look(uint64_t piece, crossrail_times* times);  // crossrail_device_module explains it.

 private:
  // This is an event and the host's time there, which may be wrong by `width_ns`. 0 means that there is none.
  struct Moment {
    Event event{};
    int64_t host_ns = 0, width_ns = 0;
  };
  enum class State { none, begun, ended, known };
  struct Piece {
    Event before{}, behind{};
    uint64_t number = 0;
    State state = State::none;
    crossrail_times times{};
  };
  static constexpr size_t kPieces = 32;  // If there are more at a time, the oldest have no times.

  Piece& piece_of(uint64_t number) { return pieces_[number % kPieces]; }
  const char* make_events();
  int settle(Piece& piece);
  void settle_all();
  void compare_clocks(Stream stream);
  void accept(Moment& found);
  void find_pace();

  std::array<Piece, kPieces> pieces_;
  uint64_t last_ = 0;     // It is the number of the last piece.
  uint64_t settled_ = 0;  // Of all pieces up to this one it is known whether they have times.
  int64_t last_ended_ns_ = 0;
  Moment first_, latest_, trial_, best_;
  int64_t compared_ns_ = 0;  // It was last tried then.
  double pace_ = 1;          // It is the number of the host's nanoseconds in one of the device's.
};

}  // namespace gpu
