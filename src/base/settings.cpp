#include "base/settings.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <strings.h>

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

bool parse_flag(const std::string& text, std::uint64_t& value) {
  static constexpr const char* kWords[][2] = {{"0", "1"}, {"off", "on"}, {"no", "yes"}, {"false", "true"}};
  for (const auto& words : kWords) {
    for (const std::uint64_t flag : {0, 1}) {
      if (strcasecmp(text.c_str(), words[flag]) != 0) continue;
      value = flag;
      return true;
    }
  }
  return false;
}

bool parse(const char* kind, const std::string& text, std::uint64_t& value) {
  return std::strcmp(kind, "flag") == 0 ? parse_flag(text, value) : parse_bytes(text, value);
}

// Sets the member whose row is `variable`; false if there is none or the text makes no sense.
bool assign(Settings& settings, const std::string& variable, const std::string& text) {
#define SETTING(member, name, kind, preset, scope, help) \
  if (variable == name) return parse(#kind, text, settings.member);
#include "base/settings.def"
#undef SETTING
  return false;
}

// Whether this process speaks for its job about what all its processes have alike: rank 0, or who does not know.
bool speaks_for_job() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* const rank = std::getenv(variable); rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

const SettingRow* row_named(const std::string& variable) {
  for (const SettingRow& row : setting_rows()) {
    if (variable == row.variable) return &row;
  }
  return nullptr;
}

// In the environment; what is meant to switch crossrail off does, however it is spelt.
void assign_or_say(Settings& settings, const std::string& variable, const char* text) {
  if (assign(settings, variable, text)) return;
  if (variable == "CROSSRAIL") settings.enabled = 0;
  if (!speaks_for_job()) return;
  const SettingRow* const row = row_named(variable);
  if (row == nullptr) {
    std::fprintf(stderr, "crossrail: %s is not a setting of crossrail: ignored (see 'crossrail list --settings')\n", variable.c_str());
  } else if (variable == "CROSSRAIL") {
    std::fprintf(stderr, "crossrail: CROSSRAIL=%s is neither on nor off: crossrail is off\n", text);
  } else {
    const bool is_flag = std::strcmp(row->kind, "flag") == 0, is_size = std::strcmp(row->kind, "bytes") == 0;
    std::fprintf(stderr, "crossrail: %s=%s is ignored: it takes %s; the default, %s, is used\n", variable.c_str(), text,
                 is_flag ? "0 or 1" : is_size ? "a size such as 64M" : "a number", row->preset.c_str());
  }
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
    if (equals[1] != '\0') assign_or_say(settings, variable, equals + 1);
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
