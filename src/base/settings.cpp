#include "base/settings.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace crossrail {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }

bool parse(const char* kind, const std::string& text, std::string& value) {
  (void)kind;
  value = text;
  return true;
}

bool parse(const char* kind, const std::string& text, std::uint64_t& value) {
  std::uint64_t parsed = 0;
  if (!parse_bytes(text, parsed)) return false;
  if (std::strcmp(kind, "flag") == 0 && parsed > 1) return false;
  value = parsed;
  return true;
}

// Sets the member whose row is `variable`; false if there is none or the text makes no sense.
bool assign(Settings& settings, const std::string& variable, const std::string& text) {
#define SETTING(member, name, kind, preset, scope, help) \
  if (variable == name) return parse(#kind, text, settings.member);
#include "base/settings.def"
#undef SETTING
  return false;
}

Settings read_environment() {
  Settings settings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "CROSSRAIL", 9) != 0) continue;
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string variable(*entry, static_cast<std::size_t>(equals - *entry));
    if (variable != "CROSSRAIL" && variable.compare(0, 10, "CROSSRAIL_") != 0) continue;
    if (variable == "CROSSRAIL_LIBRARY_DIR" || variable == "CROSSRAIL_NCCL") continue;  // the command line's own, the bench's
    if (equals[1] == '\0' || assign(settings, variable, equals + 1)) continue;
    std::fprintf(stderr, "crossrail: %s=%s is not a setting of crossrail: ignored (see 'crossrail list --settings')\n",
                 variable.c_str(), equals + 1);
  }
  return settings;
}

Settings& changeable_settings() {
  // Never destroyed: the report is written when the process ends, after destructors have begun.
  static Settings& settings = *new Settings(read_environment());
  return settings;
}

}  // namespace

bool parse_bytes(const std::string& text, std::uint64_t& bytes) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  int shift = 0;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    default: break;
  }
  if (shift != 0) ++end;
  if (*end != '\0' || errno != 0 || (value << shift) >> shift != value) return false;
  bytes = value << shift;
  return true;
}

const Settings& process_settings() { return changeable_settings(); }

bool change_process_setting(const std::string& variable, const std::string& value) {
  return assign(changeable_settings(), variable, value);
}

std::string communicator_settings_text(const Settings& settings) {
  std::string text;
#define SETTING(member, variable, kind, preset, scope, help) \
  if (std::strcmp(#scope, "communicator") == 0) text += std::string(variable) + "=" + text_of(settings.member) + "\n";
#include "base/settings.def"
#undef SETTING
  return text;
}

void apply_communicator_settings(const std::string& text, Settings& settings) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
      (void)assign(settings, line.substr(0, equals), line.substr(equals + 1));
    }
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = {
#define SETTING(member, variable, kind, preset, scope, help) \
  {variable, #kind, #scope, help, text_of(preset)},
#include "base/settings.def"
#undef SETTING
  };
  return rows;
}

std::vector<std::string> setting_values(const Settings& settings) {
  std::vector<std::string> values;
#define SETTING(member, variable, kind, preset, scope, help) values.push_back(text_of(settings.member));
#include "base/settings.def"
#undef SETTING
  return values;
}

}  // namespace crossrail
