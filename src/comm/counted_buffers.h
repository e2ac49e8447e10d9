// CountedBuffers is the user's memory of a v-call in a stream's order. The arrays with the lengths and places of blocks may be in device memory,
// where no rank knows them before the stream gets there. Therefore the kernel keeps to the allocations in which the buffers begin.
//
// In the barrier before the exchange each rank tells its peers where their blocks go and how much fits there. A sender cuts its block off
// at that, so that nobody writes where the receiver has not said. A device that finds a block wrong sets a word that its rank reads in its
// next call in a stream's order, which all ranks then refuse alike.
#pragma once

#include "comm/user_buffers.h"

namespace crossrail {

class CountedBuffers final : public UserBuffers {
 public:
  // The constructor finds `lowest` and `highest` of the sides. `possible` is false if this rank cannot take part, which the others are
  // told.
  CountedBuffers(const crossrail_counted_side& send, const crossrail_counted_side& recv, bool possible = true)
      : send_(send), recv_(recv), possible_(possible) {}

  // These buffers are for devices only. Errors: unsupported.
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override { return {}; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  crossrail_counted_side send_, recv_;
  bool possible_;
};

}  // namespace crossrail
