// DeviceTimes: when the device really did what the trace shows of it, where a trace is on and the module can tell. The host sees
// that work is done a moment before its times are known: they are asked for later, and nobody waits for them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/trace.h"
#include "device/device.h"

namespace crossrail {

class DeviceTimes {
 public:
  void open(const crossrail_device_module& module, crossrail_queue* queue);
  // Waits a moment for the last ones.
  void close();
  // Adds those that are known by now to the trace.
  void collect();

  // While it lives, all that the queue is asked is the work of this event; 0: of none.
  class Piece {
   public:
    Piece(DeviceTimes& times, trace::Number of) : times_(of != 0 && times.begin(of) ? &times : nullptr) {}
    ~Piece() {
      if (times_ != nullptr) [[unlikely]] times_->end();
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    DeviceTimes* times_;
  };

 private:
  struct Asked {
    trace::Number of;
    std::uint64_t piece;
  };
  bool begin(trace::Number of);
  void end();

  const crossrail_device_module* module_ = nullptr;  // null: no times
  crossrail_queue* queue_ = nullptr;
  std::vector<Asked> asked_;  // in their order
};

}  // namespace crossrail
