// This is what kernels of messages between pairs of ranks do on the device of host_device.h.
#pragma once

#include <vector>

#include "crossrail/device_module.h"

namespace crossrail::virtual_world {

const char* supports_messages(int ranks, size_t* buffer_bytes);

// These are messages with copies of their lists.
struct KeptMessages {
  explicit KeptMessages(const crossrail_messages& messages)
      : asked(messages),
        buffers(messages.buffers, messages.buffers + messages.ranks),
        sends(messages.sends, messages.sends + messages.send_count),
        recvs(messages.recvs, messages.recvs + messages.recv_count) {}
  crossrail_messages asked;
  std::vector<void*> buffers;
  std::vector<crossrail_message> sends, recvs;
};
bool run_messages(const KeptMessages& work);  // It returns false if it has given up.

}  // namespace crossrail::virtual_world
