// Calls on one communicator come one after the other, whatever their streams: NCCL promises it, and packets of two calls must not mix. So a call in
// another stream than the one before waits there for that one, by an event of the driver. Streams are not compared: another one may have come to be
// at the address of one that is no more, whose work goes on. Captured calls take their turns by the same event.
#pragma once

#include "nccl/captures.h"

namespace crossrail::nccl {

class StreamTurns {
 public:
  StreamTurns() = default;
  StreamTurns(const StreamTurns&) = delete;
  StreamTurns& operator=(const StreamTurns&) = delete;

  // Comes before a call's work in a place that is known. It returns false if the driver has refused something, so that the order is not certain.
  bool begin(const Place& place);
  // Comes after it, and returns false if what follows may come too early.
  bool end(const Place& place);
  // Returns whether all work is done, and no graph can bring more.
  bool is_over() const;
  void close();

 private:
  void* event_ = nullptr;
  Captures captures_;
  bool unknown_ = false;   // Some work could not be followed.
};

}  // namespace crossrail::nccl
