// The tuning table that a setting names, for those who ask about it.
#pragma once

#include <string>
#include <vector>

#include "comm/tuning_row.h"

namespace crossrail {

// Appends the rows of the table at `path`. What is wrong with it, as a sentence without a full stop; empty where nothing is.
std::string read_table(const std::string& path, std::vector<TuningRow>& rows);

}  // namespace crossrail
