// What would wait for the program's kernels, and hold up its launches meanwhile, is left for a thread, which does it while the device is
// idle and the program's thread is in a call of crossrail's, so that it launches nothing before it is done. Only where much has gathered, at another
// idle moment.
#pragma once

#include "place.h"

namespace gpu {

enum class Chore { free_memory, close_mapping, unregister_pages, free_host };

// Once the place's context is idle; at once where a driver cannot tell when that is, or the system gives no thread.
struct Leftover {
  Chore chore;
  Address at;
  size_t bytes;  // of pages, which are unmapped too; of mappings
};
void do_later(Place& place, const Leftover& leftover);
// All of it now, though that waits. False if there was nothing.
bool catch_up(Place& place);
// Lives while a kernel that waits for other ranks is launched: nothing is begun meanwhile that would wait for it with the driver's locks in its
// hands, so that this process could launch nothing until the others have come, who may wait for this process.
class LaunchOfWaiting {
 public:
  explicit LaunchOfWaiting(bool waits);
  ~LaunchOfWaiting();
  LaunchOfWaiting(const LaunchOfWaiting&) = delete;
  LaunchOfWaiting& operator=(const LaunchOfWaiting&) = delete;

 private:
  bool waits_;
};
// The program's thread is in a call, and has nothing on the device that waits for other ranks: what is left is done now, a few things at a
// time, if the device is idle. Waits a little for that, and where it is not, seldom.
void settle(Place& place);
// The same of all of it, at once and with more patience, where the driver refuses memory because of what is left. Whether anything was done.
bool cleared_soon(Place& place);

// `call` may have found no memory for what is only to be done later: that is done now.
template <class Call>
Result with_room(Place& place, Call call) {
  const Result first = call();
  return first == kSuccess || !catch_up(place) ? first : call();
}

}  // namespace gpu
