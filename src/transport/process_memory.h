// Other processes of the node: reading their memory, and whether they still live.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace crossrail {

// process_vm_readv of `bytes` at `address` in process `pid`. Errors: system (not allowed, not
// readable), peer_lost (no such process).
Status read_process(int pid, void* to, std::uint64_t address, std::size_t bytes);

// process_vm_writev, the other way. Errors: the same; some of the bytes may have been written.
Status write_process(int pid, const void* from, std::uint64_t address, std::size_t bytes);

// False once the process has ended, also while its parent has not yet taken notice (a zombie).
bool process_alive(int pid);

}  // namespace crossrail
