// These functions deal with other processes of the node: they read and write their memory and find out whether they are alive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace crossrail {

// Calls process_vm_readv for `bytes` bytes at `address` in process `pid`. Errors: system (not allowed, not readable), peer_lost (no such process).
Status read_process(int pid, void* to, std::uint64_t address, std::size_t bytes);

// Calls process_vm_writev, in the other direction. Errors: the same; some of the bytes may have been written.
Status write_process(int pid, const void* from, std::uint64_t address, std::size_t bytes);

// Returns false once the process has ended, even if its parent has not yet collected it (a zombie).
bool process_alive(int pid);

}  // namespace crossrail
