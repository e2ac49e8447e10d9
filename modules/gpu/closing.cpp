#include "closing.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace gpu {
namespace {

struct All {
  std::mutex mutex;
  std::vector<Address> mappings;
  std::atomic<size_t> count{0};  // Most of the time there are none, and nobody takes the mutex.
};
All& all() {
  static All& one = *new All;
  return one;
}

}  // namespace

Closing::Closing(const std::vector<Leftover>& leftovers) {
  for (const Leftover& one : leftovers) {
    if (one.chore == Chore::close_mapping) mappings_.push_back(one.at);
  }
  if (mappings_.empty()) return;
  const std::lock_guard lock(all().mutex);
  all().mappings.insert(all().mappings.end(), mappings_.begin(), mappings_.end());
  all().count = all().mappings.size();
}

Closing::~Closing() {
  if (mappings_.empty()) return;
  const std::lock_guard lock(all().mutex);
  for (const Address at : mappings_) std::erase(all().mappings, at);
  all().count = all().mappings.size();
}

bool is_closing(Address at) {
  if (all().count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(all().mutex);
  return std::find(all().mappings.begin(), all().mappings.end(), at) != all().mappings.end();
}

}  // namespace gpu
