// Messages between nodes may begin and end in device memory if MPI accepts such addresses. That MPI claims so is not enough, because it may be slower
// than going through host memory, or wrong. Therefore the ranks of a communicator try it once, before its first plan for device memory, and compare.
#pragma once

#include "comm/communicator.h"

namespace crossrail {

// All ranks call it in a call whose sides are in device memory, all with an open queue. It is collective, with the same number of agreements and
// messages on all ranks. It sets communicator.device_messages, which may differ between ranks. Errors: those of messages and of the device.
Status try_device_messages(Slot& slot);

// Returns where the messages of a plan begin and end on this rank.
MessageRoom::Where where_messages_are(const Communicator& communicator, const MessageNeeds& needs);

}  // namespace crossrail
