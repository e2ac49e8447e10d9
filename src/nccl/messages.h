// Sends and receives, alone or in groups.
//
// Both ends of a message must know alike whether crossrail handles it. So it handles all messages of a communicator that it has opened, if no rank had
// made a send or a receive before.
#pragma once

#include <span>

#include "nccl/calls.h"

namespace crossrail::nccl {

// It is a call of ncclSend or ncclRecv, as the program made it.
struct Message {
  enum class Way { send, receive };
  Way way;
  void* address;
  std::size_t count;
  Type type;
  int peer;
  Comm comm;
  Stream stream;
};

// Gives a message to NCCL.
Result leave(const Message& message, Why why);
// Makes messages that go on at the same time: one that is in no group, or those of a group that NCCL has still open.
Result make_messages(std::span<const Message> messages);

}  // namespace crossrail::nccl
