// Whether the ranks of a communicator have helper processes (transport/helper_processes.h), and the number of its messages among theirs.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace crossrail::mpi {

// This process's part of what the ranks tell each other.
void tell_of_helpers(Location& mine);
// Null where some rank has none, on all ranks alike. Collective, where all have some: once messages can be sent.
std::unique_ptr<HelperTeam> agree_on_helpers(Communicator& communicator, const std::vector<Location>& locations);

}  // namespace crossrail::mpi
