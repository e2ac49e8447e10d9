// A group's messages may name several streams, but are one piece of work in one of them. That comes after what all of them have been asked before, and
// what they are asked later comes after it.
#pragma once

#include <vector>

#include "nccl/api.h"

namespace crossrail::nccl {

class JoinedStreams {
 public:
  // The work is in the stream that is added first.
  void add(Stream stream);
  Stream first() const { return streams_.front(); }

  // These come before and after the work. They return false if the driver has refused something, so that the order is not certain.
  bool join() const;
  bool part() const;

 private:
  bool several() const { return streams_.size() > 1; }

  std::vector<Stream> streams_;  // All of them live, so their addresses tell them apart.
};

}  // namespace crossrail::nccl
