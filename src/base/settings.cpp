#include "base/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/setting_check.h"
#include "base/setting_sources.h"

namespace crossrail {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }

// Returns whether this process reports for its job what all its processes have alike. That is rank 0, or a process that does not know its
// rank.
bool speaks_for_job() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* const rank = std::getenv(variable); rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

// Reports problems at the first use. This has a static of its own, so that a caller who asks quietly before does not suppress the report.
bool tell_problems(const SettingSources& sources) {
  if (!speaks_for_job()) return false;
  for (const GivenSetting& given : sources.given) {
    if (!given.problem.empty()) std::fprintf(stderr, "crossrail: %s\n", given.problem.c_str());
  }
  return true;
}

}  // namespace

const Settings& process_settings() {
  SettingSources& sources = process_setting_sources();
  [[maybe_unused]] static const bool told = tell_problems(sources);
  return sources.settings;
}

bool change_process_setting(const std::string& variable, const std::string& value) {
  const SettingRow* const row = setting_row(variable);
  const auto has_scope = [row](const char* scope) { return std::strcmp(row->scope, scope) == 0; };
  if (row == nullptr || has_scope("start") || has_scope("launch")) return false;
  return assign_setting(process_setting_sources().settings, variable, value);
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
      (void)assign_setting(settings, line.substr(0, equals), line.substr(equals + 1));
    }
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

const std::vector<SettingRow>& setting_rows() {
  static const auto& rows = *new std::vector<SettingRow>{
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
