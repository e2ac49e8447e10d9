// This reads the tuning table that a setting names, for functions that ask about it.
#pragma once

#include <string>
#include <vector>

#include "comm/tuning_row.h"

namespace crossrail {

// Appends the rows of the table at `path`. Returns what is wrong with it, as a sentence without a full stop, or an empty text if nothing is.
std::string read_table(const std::string& path, std::vector<TuningRow>& rows);

}  // namespace crossrail
