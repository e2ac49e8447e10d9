// This writes into the report how our collectives compared with MPI's own (comm/speed_guard.h).
#pragma once

#include <string>

namespace crossrail::mpi {

// Returns a list of objects, one for each collective and block size.
std::string compared_json();

}  // namespace crossrail::mpi
