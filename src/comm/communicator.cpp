#include "comm/communicator.h"

#include <new>

namespace crossrail {

Status Room::reserve(std::size_t wanted) {
  if (bytes >= wanted) return {};
  memory.reset();
  bytes = 0;
  memory.reset(new (std::nothrow) std::byte[wanted]);
  if (memory == nullptr) return failure(Code::no_memory, "no memory for %zu bytes of packed or staged data", wanted);
  bytes = wanted;
  return {};
}

}  // namespace crossrail
