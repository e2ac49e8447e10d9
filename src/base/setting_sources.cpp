#include "base/setting_sources.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/setting_check.h"
#include "base/small_file.h"

extern char** environ;

#ifndef CROSSRAIL_SYSCONFDIR
#define CROSSRAIL_SYSCONFDIR "/etc"
#endif

namespace crossrail {
namespace {

constexpr std::size_t kMostFileBytes = 256 * 1024;
// These are no settings of the library: the command line, the benches and the tests read them.
constexpr const char* kOthersVariables[] = {"CROSSRAIL_LIBRARY_DIR", "CROSSRAIL_NCCL", "CROSSRAIL_BUILD"};

bool is_others(const std::string& variable) {
  for (const char* one : kOthersVariables) {
    if (variable == one) return true;
  }
  return false;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string without_comment(const std::string& line) {
  for (std::size_t at = line.find('#'); at != std::string::npos; at = line.find('#', at + 1)) {
    if (at == 0 || std::isspace(static_cast<unsigned char>(line[at - 1])) != 0) return line.substr(0, at);
  }
  return line;
}

// Turns "alltoall" into "CROSSRAIL_ALLTOALL"; "crossrail" is the switch itself.
std::string variable_of(const std::string& name) {
  if (name == "crossrail") return "CROSSRAIL";
  std::string variable = "CROSSRAIL_";
  for (const char letter : name) variable += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return variable;
}

// Returns what holds instead of a value that is ignored.
std::string held_instead(const SettingSources& sources, const SettingRow& row) {
  for (auto given = sources.given.rbegin(); given != sources.given.rend(); ++given) {
    if (given->variable == row.variable && given->problem.empty()) return given->text + " (" + given->from + ")";
  }
  return "the default, " + (row.preset.empty() ? "none" : row.preset) + ",";
}

void take(SettingSources& sources, GivenSetting given) {
  const SettingRow* const row = setting_row(given.variable);
  const bool in_environment = given.from == "environment";
  const std::string said = in_environment ? given.variable + "=" + printable(given.text) : given.from + ": " + given.variable + " = " + printable(given.text);
  if (row == nullptr) {
    given.problem = (in_environment ? given.variable : said) + " is not a setting of crossrail: ignored (see 'crossrail list --settings')";
  } else if (!in_environment && (std::strcmp(row->scope, "environment") == 0 || std::strcmp(row->scope, "launch") == 0)) {
    given.problem = said + " is ignored: it must be in the environment";
  } else if (const std::string takes = what_it_takes(*row, given.text); takes.empty()) {
    (void)assign_setting(sources.settings, given.variable, given.text);
  } else if (given.variable == "CROSSRAIL") {
    // The program's user most likely meant to switch crossrail off.
    sources.settings.enabled = 0;
    given.problem = said + " is neither on nor off: crossrail is off";
  } else {
    given.problem = said + " is ignored: it takes " + takes + "; " + held_instead(sources, *row) + " is used";
  }
  sources.given.push_back(std::move(given));
}

void take_line(SettingSources& sources, const std::string& line, const std::string& from) {
  const std::string words = trimmed(without_comment(line));
  const auto equals = words.find('=');
  const std::string name = trimmed(words.substr(0, equals));
  const std::string value = equals == std::string::npos ? "" : trimmed(words.substr(equals + 1));
  if (equals == std::string::npos || name.empty()) {
    if (!words.empty()) sources.given.push_back({"", words, from, from + ": '" + printable(words) + "' is no 'name = value': ignored"});
  } else if (!value.empty()) {
    take(sources, {variable_of(printable(name)), value, from, ""});
  }
}

// Only the first line that makes no sense is reported, since a file of another kind may have thousands.
void read_lines(SettingSources& sources, const std::string& path, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  bool told = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t before = sources.given.size();
    take_line(sources, line, path + ":" + std::to_string(number));
    if (sources.given.size() == before || sources.given.back().problem.empty()) continue;
    if (std::exchange(told, true)) sources.given.pop_back();
  }
}

// Reads the site's file, unless CROSSRAIL_CONFIG names another one or none.
void read_settings_file(SettingSources& sources) {
  const char* const config = std::getenv("CROSSRAIL_CONFIG");
  const std::string path = config == nullptr ? CROSSRAIL_SYSCONFDIR "/crossrail.conf" : config;
  if (path.empty() || path == "none") return;
  const SmallFile file = read_small_file(path, kMostFileBytes);
  if (!file.there && config == nullptr) return;
  if (!file.problem.empty()) {
    sources.given.push_back({"", "", path, (config != nullptr ? "CROSSRAIL_CONFIG: " : "") + printable(path) + " " + file.problem + ": ignored"});
    return;
  }
  sources.file = path;
  read_lines(sources, path, file.text);
}

void read_environment(SettingSources& sources) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "CROSSRAIL", 9) != 0) continue;
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr || equals[1] == '\0') continue;
    const std::string variable(*entry, static_cast<std::size_t>(equals - *entry));
    if (variable != "CROSSRAIL" && variable.compare(0, 10, "CROSSRAIL_") != 0) continue;
    if (!is_others(variable)) take(sources, {variable, equals + 1, "environment", ""});
  }
}

}  // namespace

SettingSources read_setting_sources() {
  SettingSources sources;
  read_settings_file(sources);
  read_environment(sources);
  return sources;
}

SettingSources& process_setting_sources() {
  // This is never destroyed, because the report is written when the process ends, after destructors have begun.
  static SettingSources& sources = *new SettingSources(read_setting_sources());
  return sources;
}

}  // namespace crossrail
