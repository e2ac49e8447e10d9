// Whether a text is a value of a setting, and what to say where it is not.
#pragma once

#include <string>

#include "base/settings.h"

namespace crossrail {

// Null where there is none.
const SettingRow* setting_row(const std::string& variable);
// Empty where `text` is one of its values, else what it takes: "a size such as 64M". Which algorithms there are is not looked at.
std::string what_it_takes(const SettingRow& row, const std::string& text);
// At most 100 characters of a text, those that would spoil a line replaced.
std::string printable(const std::string& text);

// Sets the member whose row is `variable`; false if there is none or the text makes no sense.
bool assign_setting(Settings& settings, const std::string& variable, const std::string& text);

}  // namespace crossrail
