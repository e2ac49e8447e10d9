// LoaderMark says whether the process has loaded a library since somebody last looked, in a dozen instructions. The dynamic loader appends
// what it loads to its list. dl_iterate_phdr can tell that it has, but takes a lock and walks that list, which is too much for every MPI
// call. So a tiny library that nobody else uses is kept loaded as a mark: as long as it is the last of the list, nothing has been loaded
// after it.
#pragma once

#include <link.h>

#include <atomic>

namespace crossrail::device {

class LoaderMark {
 public:
  // Any thread may call this at any time. It returns false if that cannot be told.
  bool nothing_loaded_since() {
    readers_.fetch_add(1);
    link_map* const mark = mark_.load();
    const bool is_last = mark != nullptr && std::atomic_ref<link_map*>(mark->l_next).load(std::memory_order_acquire) == nullptr;
    readers_.fetch_sub(1, std::memory_order_release);
    return is_last;
  }
  // Marks this moment, if that can be done. Only one thread at a time may call it. A caller that looks for what has been loaded does so
  // afterwards, so that it misses nothing. To load the mark again takes some 50 us.
  void renew();
  // After this, nothing is marked any longer.
  void drop();

 private:
  std::atomic<link_map*> mark_{nullptr};
  std::atomic<int> readers_{0};  // Nobody unloads the mark while somebody looks at it.
  void* library_ = nullptr;
  bool given_up_ = false;
};

}  // namespace crossrail::device
