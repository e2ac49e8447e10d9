// Calls on one communicator come one after the other, whatever their streams: NCCL promises it, and packets of two calls must not mix. So a call in
// another stream than the one before waits there for that one, by an event of the driver. Streams are not compared: another one may have come to be
// at the address of one that is no more, whose work goes on.
#pragma once

#include "nccl/api.h"

namespace crossrail::nccl {

// Returns whether a call in the stream would become a part of a graph. Nobody but the device could tell whose turn it is between launches of graphs
// and other calls.
bool is_captured(Stream stream);

class StreamTurns {
 public:
  StreamTurns() = default;
  StreamTurns(const StreamTurns&) = delete;
  StreamTurns& operator=(const StreamTurns&) = delete;

  // Comes before a call's work. It returns false if the driver has refused something, so that the order is not certain.
  bool begin(Stream stream);
  // Comes after it.
  void end(Stream stream);
  // Returns whether all work is done.
  bool is_over() const;
  void close();

 private:
  void* event_ = nullptr;
  bool recorded_ = false;
  bool unknown_ = false;   // Some work could not be followed.
};

}  // namespace crossrail::nccl
