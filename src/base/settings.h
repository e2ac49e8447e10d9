// Settings: the values of all CROSSRAIL_ variables. Rows are in settings.def.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crossrail {

namespace setting_kind {
using path = std::string;
using algorithm = std::string;
using segments = std::string;
using nodes = std::string;
using bytes = std::uint64_t;
using count = std::uint64_t;
using level = std::uint64_t;
using flag = std::uint64_t;
}  // namespace setting_kind

struct Settings {
#define SETTING(member, variable, kind, preset, scope, help) setting_kind::kind member = preset;
#include "base/settings.def"
#undef SETTING
};

// This process's settings, read once: from the environment, else the user's file, else the site's (setting_sources.h). What is wrong
// there is said on standard error by one process of the job and otherwise ignored; only CROSSRAIL itself is off where it makes no sense.
const Settings& process_settings();
// Changes one of them. False if there is no such variable or the value makes no sense. Not for
// use while another thread opens a communicator.
bool change_process_setting(const std::string& variable, const std::string& value);

// The rows whose scope is the communicator, as "VARIABLE=value\n" text, to be sent by rank 0 ...
std::string communicator_settings_text(const Settings& settings);
// ... and taken over by the others. Lines that are not understood are ignored.
void apply_communicator_settings(const std::string& text, Settings& settings);

struct SettingRow {
  const char* variable;
  const char* kind;
  const char* scope;
  const char* help;
  std::string preset;
};
const std::vector<SettingRow>& setting_rows();

// The values of all rows as text, in the rows' order.
std::vector<std::string> setting_values(const Settings& settings);

// "64K" -> 65536. False if `text` is no size.
bool parse_bytes(const std::string& text, std::uint64_t& bytes);

}  // namespace crossrail
