#include "device_sharing/device_times.h"

#include <cstddef>

namespace crossrail {

void DeviceTimes::open(const crossrail_device_module& module, crossrail_queue* queue) {
  if (!trace::on() || module.times == nullptr) return;
  module_ = &module;
  queue_ = queue;
}

void DeviceTimes::close() {
  constexpr std::int64_t kMomentNs = 1'000'000;
  const std::int64_t until = asked_.empty() ? 0 : trace::now_ns() + kMomentNs;
  do {
    collect();
  } while (!asked_.empty() && trace::now_ns() < until);
  asked_.clear();
  module_ = nullptr;
}

void DeviceTimes::collect() {
  std::size_t over = 0;
  for (; over < asked_.size(); ++over) {
    crossrail_times times{};
    const int known = module_->times(queue_, asked_[over].piece, &times);
    if (known == 0) break;
    if (known == 1) trace::add_on_device(asked_[over].of, times.began_ns, times.ended_ns);
  }
  asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(over));
}

}  // namespace crossrail
