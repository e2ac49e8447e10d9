// Settings are the values of all CROSSRAIL_ variables. Their rows are in settings.def.
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

// Returns this process's settings, which are read once, from the environment and one file (setting_sources.h). One process of the job
// reports on standard error what is wrong there; wrong values are otherwise ignored, except that a wrong value of CROSSRAIL itself switches
// crossrail off.
const Settings& process_settings();
// Changes a setting. Returns false if there is no such variable or if the value makes no sense. No other thread may open a communicator
// meanwhile.
bool change_process_setting(const std::string& variable, const std::string& value);

// Returns the rows whose scope is the communicator, as "VARIABLE=value\n" text, which rank 0 sends.
std::string communicator_settings_text(const Settings& settings);
// Takes over the text that rank 0 has sent. Lines that are not understood are ignored.
void apply_communicator_settings(const std::string& text, Settings& settings);

struct SettingRow {
  const char* variable;
  const char* kind;
  const char* scope;
  const char* help;
  std::string preset;
};
const std::vector<SettingRow>& setting_rows();

// Returns the values of all rows as text, in the rows' order.
std::vector<std::string> setting_values(const Settings& settings);

// Turns "64K" into 65536. Returns false if `text` is no size.
bool parse_bytes(const std::string& text, std::uint64_t& bytes);

}  // namespace crossrail
