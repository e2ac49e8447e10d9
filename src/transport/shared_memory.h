// SharedMemory: a mapping of bytes that several processes of a node see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace crossrail {

// How a peer finds the memory. Plain bytes: it travels as a message.
struct SharedMemoryAddress {
  std::uint64_t bytes;
  std::uint64_t nonce;  // stands at the start of the memory: proves that it is the right one
  std::uint64_t pid_space;  // of the pid; in another one that is a stranger's
  std::int32_t pid;
  std::int32_t descriptor;
  char name[40];  // "/crossrail.<16 hex digits>" for shm, empty for memfd
};

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { close(); }

  // `kind` is "memfd" (no file, nothing left behind by a crash, no /dev/shm needed) or "shm"
  // (/dev/shm, mode 0600, all pages reserved so that a full file system is an error, not SIGBUS).
  // The memory is zero but for the nonce in its first eight bytes. Errors: system, no_memory.
  Status create(const char* kind, std::size_t bytes);
  // Maps what another process created. Errors: system (not visible from here, wrong nonce).
  Status attach(const SharedMemoryAddress& address);
  // Call when every peer has attached: takes the name and the descriptor away.
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
