// What would wait for the program's kernels, and hold up its launches meanwhile, is left for a thread. The thread does it while the device
// is idle and the program's thread is in a call of crossrail's, so that it launches nothing before it is done. Only where much has gathered
// does the thread do it at another idle moment.
#pragma once

#include "place.h"

namespace gpu {

enum class Chore { free_memory, close_mapping, unregister_pages, free_host };

// A leftover is done once the place's context is idle. It is done at once where a driver cannot tell when that is, or the system gives no
// thread.
struct Leftover {
  Chore chore;
  Address at;
  size_t bytes;  // It counts bytes of pages, which are unmapped too, or of mappings.
};
void do_later(Place& place, const Leftover& leftover);
// Does all of it now, though that waits. It returns false if there was nothing.
bool catch_up(Place& place);
// Lives while a kernel that waits for other ranks is launched. Nothing is begun meanwhile that would wait for it with the driver's locks in
// its hands. Otherwise this process could launch nothing until the others have come, who may wait for this process.
class LaunchOfWaiting {
 public:
  explicit LaunchOfWaiting(bool waits);
  ~LaunchOfWaiting();
  LaunchOfWaiting(const LaunchOfWaiting&) = delete;
  LaunchOfWaiting& operator=(const LaunchOfWaiting&) = delete;

 private:
  bool waits_;
};
// The program's thread is in a call, and has nothing on the device that waits for other ranks. What is left is done now, a few things at a
// time, if the device is idle. This waits a little for that, and seldom where it is not idle.
void settle(Place& place);
// Does the same with all of it, at once and with more patience, where the driver refuses memory because of what is left. It returns whether
// anything was done.
bool cleared_soon(Place& place);

// `call` may have found no memory for what is only to be done later. That is done now.
template <class Call>
Result with_room(Place& place, Call call) {
  const Result first = call();
  return first == kSuccess || !catch_up(place) ? first : call();
}

}  // namespace gpu
