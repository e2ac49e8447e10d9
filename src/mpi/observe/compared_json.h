// What was compared with the MPI library's own collectives (comm/speed_guard.h), for CROSSRAIL_REPORT.
#pragma once

#include <string>

namespace crossrail::mpi {

// A list of objects, one for each collective and length of blocks.
std::string compared_json();

}  // namespace crossrail::mpi
