#include "comm/plan.h"

#include <new>

namespace crossrail {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::alltoall: return "alltoall";
  }
  return "?";
}

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::host: return "host";
  }
  return "?";
}

Status Plan::reserve_scratch(std::size_t bytes) {
  if (bytes > topology->scratch_bytes) {
    return failure(Code::no_memory, "%zu bytes of scratch are over CROSSRAIL_SCRATCH", bytes);
  }
  scratch.reset(new (std::nothrow) std::byte[bytes]);
  if (scratch == nullptr) return failure(Code::no_memory, "no memory for %zu bytes of scratch", bytes);
  scratch_bytes = bytes;
  return {};
}

std::string Plan::text() const {
  std::string text = std::string(name_of(shape.collective)) + " of " + std::to_string(shape.block_bytes) +
                     "-byte blocks" + (shape.in_place ? " in place" : "") + ", " + topology->text() + ": " +
                     algorithm;
  if (packets) text += ", packets";
  if (chunk_bytes != 0) text += ", chunks of " + std::to_string(chunk_bytes);
  if (scratch_bytes != 0) text += ", scratch " + std::to_string(scratch_bytes);
  return text + " (" + reason + ")";
}

}  // namespace crossrail
