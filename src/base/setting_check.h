// These functions check whether a text is a value of a setting, and say what is wrong if it is not.
#pragma once

#include <string>

#include "base/settings.h"

namespace crossrail {

// Returns null if there is no such row.
const SettingRow* setting_row(const std::string& variable);
// Returns an empty text if `text` is one of the setting's values, otherwise what it takes: "a size such as 64M". Whether an algorithm
// exists is not checked here.
std::string what_it_takes(const SettingRow& row, const std::string& text);
// Returns at most 100 characters of a text, without characters that would spoil a line.
std::string printable(const std::string& text);

// Sets the member whose row is `variable`. Returns false if there is none or if the text makes no sense.
bool assign_setting(Settings& settings, const std::string& variable, const std::string& text);

}  // namespace crossrail
