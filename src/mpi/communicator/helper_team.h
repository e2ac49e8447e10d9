// This file decides whether the ranks of a communicator have helper processes
// (transport/helper_processes.h), and which number its messages have there.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace crossrail::mpi {

// Writes this process's part of what the ranks tell each other.
void tell_of_helpers(Location& mine);
// Returns null on all ranks alike if some rank has no helper process. If all have one, it is collective and needs links that can send messages.
std::unique_ptr<HelperTeam> agree_on_helpers(Communicator& communicator, const std::vector<Location>& locations);

}  // namespace crossrail::mpi
