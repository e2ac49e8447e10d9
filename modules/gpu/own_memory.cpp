#include "own_memory.h"

#include <map>
#include <mutex>

#include "later.h"

namespace gpu {
namespace {

struct Own {
  Place* place;
  size_t bytes;
};
struct Owns {
  std::mutex mutex;
  std::map<Address, Own> all;
};
Owns& owns() {
  static Owns& one = *new Owns;  // They live as long as the process.
  return one;
}

Result map_chunk(Chunk chunk, const Own& own, Address* made) {
  Result result = driver().reserve(made, own.bytes, 0, 0, 0);
  if (result != kSuccess) return result;
  result = driver().map(*made, own.bytes, 0, chunk, 0);
  if (result == kSuccess) {
    result = allow_access(*made, own.bytes, own.place->device);
    if (result == kSuccess) return result;
    (void)driver().unmap(*made, own.bytes);
  }
  (void)driver().unreserve(*made, own.bytes);
  return result;
}

}  // namespace

Result make_own(Place& place, size_t bytes, Address* made) {
  Chunk chunk{};
  Own own{&place, bytes};
  Result result = with_room(place, [&] { return make_chunk(&chunk, &own.bytes, place.device); });
  if (result != kSuccess) return result;
  result = map_chunk(chunk, own, made);
  (void)driver().release_chunk(chunk);  // The mapping keeps it.
  if (result != kSuccess) return result;
  const std::lock_guard lock(owns().mutex);
  owns().all[*made] = own;
  return kSuccess;
}

bool is_own(Address memory) {
  const std::lock_guard lock(owns().mutex);
  return owns().all.count(memory) != 0;
}

bool free_own(Address memory) {
  Own own{};
  {
    const std::lock_guard lock(owns().mutex);
    const auto found = owns().all.find(memory);
    if (found == owns().all.end()) return false;
    own = found->second;
    owns().all.erase(found);
  }
  const Uncaptured uncaptured;
  const At at(*own.place);
  if (at.result() != kSuccess) return true;
  (void)driver().unmap(memory, own.bytes);
  (void)driver().unreserve(memory, own.bytes);
  return true;
}

}  // namespace gpu
