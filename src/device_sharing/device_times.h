// DeviceTimes knows when the device really did what the trace shows of it, where a trace is on and the module can tell. The host sees that
// work is done a moment before its times are known, so they are asked for later, and nobody waits for them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/trace.h"
#include "device/device.h"

namespace crossrail {

class DeviceTimes {
 public:
  // Opens it for a queue that was opened with times.
  void open(const crossrail_device_module& module, crossrail_queue* queue);
  // Waits a moment for the last ones.
  void close();
  // Adds those that are known by now to the trace.
  void collect();

  // This is a piece of work of the device, which this event shows. 0 means that no event does.
  class Piece {
   public:
    Piece(DeviceTimes& times, trace::Number of) : times_(times), of_(times.module_ == nullptr ? 0 : of) {
      if (of_ != 0) times_.collect();
    }
    ~Piece() {
      if (number_ != 0) [[unlikely]] times_.asked_.push_back({of_, number_});
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    // Returns what crossrail_work takes as `piece`.
    std::uint64_t* number() { return of_ == 0 ? nullptr : &number_; }

   private:
    DeviceTimes& times_;
    trace::Number of_;
    std::uint64_t number_ = 0;
  };

 private:
  struct Asked {
    trace::Number of;
    std::uint64_t piece;
  };

  const crossrail_device_module* module_ = nullptr;  // It is null if there are no times.
  crossrail_queue* queue_ = nullptr;
  std::vector<Asked> asked_;  // They stay in their order.
};

}  // namespace crossrail
