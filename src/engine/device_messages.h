// Messages between nodes may begin and end in device memory where the MPI library takes such addresses. That it says so is not enough: what it
// then does may be slower than to bring the bytes to host memory, or wrong. So the ranks of a communicator try it once, before its first
// plan for device memory, and compare.
#pragma once

#include "comm/communicator.h"

namespace crossrail {

// At a call of all ranks whose sides are in device memory, all with an open queue. Collective: the same number of agreements and messages on all
// ranks. Afterwards communicator.device_messages is known, which need not be alike on all ranks. Errors: those of messages and of the device.
Status try_device_messages(Slot& slot);

// Where the messages of a plan begin and end on this rank.
MessageRoom::Where where_messages_are(const Communicator& communicator, const MessageNeeds& needs);

}  // namespace crossrail
