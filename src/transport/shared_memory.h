// SharedMemory is a mapping of bytes that several processes of a node see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace crossrail {

// It is how a peer finds the memory. It has only plain bytes, because it travels as a message.
struct SharedMemoryAddress {
  std::uint64_t bytes;
  std::uint64_t nonce;  // The memory begins with it, which proves that it is the right memory.
  std::uint64_t pid_space;  // It is the PID namespace of the pid, which means another process elsewhere.
  std::int32_t pid;
  std::int32_t descriptor;
  char name[40];  // It is "/crossrail.<16 hex digits>" for shm, and empty for memfd.
};

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { close(); }

  // Creates memory. `kind` is "memfd" (no file, nothing left behind by a crash, no /dev/shm needed) or
  // "shm" (/dev/shm, mode 0600, all pages reserved so that a full file system is an error instead of
  // SIGBUS). The memory is zero except for the nonce in its first eight bytes. Errors: system, no_memory.
  Status create(const char* kind, std::size_t bytes);
  // Maps memory that another process has created. Errors: system (not visible from here, wrong nonce).
  Status attach(const SharedMemoryAddress& address);
  // Is called when every peer has attached. Removes the name and the descriptor.
  void seal();
  void close();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return address_.bytes; }
  const SharedMemoryAddress& address() const { return address_; }

 private:
  Status map(int descriptor);

  std::byte* data_ = nullptr;
  int descriptor_ = -1;
  SharedMemoryAddress address_{};
};

}  // namespace crossrail
