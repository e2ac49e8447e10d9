// Why a row of a catalogue cannot have a call.
#pragma once

#include <string>

#include "collectives/algorithm.h"

namespace crossrail {

// What would have to be different: "all ranks on one node and blocks of at most 1024 bytes". Found by asking the row itself about such
// calls. Empty where nothing that is tried makes it fit.
std::string needed_by(const Algorithm& row, const Topology& topology, const Shape& shape);

}  // namespace crossrail
