#include "base/setting_sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/setting_check.h"
#include "base/small_file.h"

extern char** environ;

#ifndef CROSSRAIL_SYSCONFDIR
#define CROSSRAIL_SYSCONFDIR "/etc"
#endif

namespace crossrail {
namespace {

constexpr std::size_t kMostFileBytes = 256 * 1024;
constexpr int kMostBadLines = 4;  // told of one file
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors begin text in UTF-8 with it
// Not settings of the library: read by the command line, the benches and the tests.
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

// "alltoall", "crossrail_alltoall", "CROSSRAIL_ALLTOALL" -> "CROSSRAIL_ALLTOALL".
std::string variable_of(const std::string& name) {
  std::string upper;
  for (const char letter : name) upper += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (upper == "CROSSRAIL" || upper.compare(0, 10, "CROSSRAIL_") == 0) return upper;
  return "CROSSRAIL_" + upper;
}

// What holds where a value is ignored.
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
    given.problem = (in_environment ? given.variable : said) + " is not a setting of crossrail: ignored" + suggestion(given.variable);
  } else if (!in_environment && (std::strcmp(row->scope, "environment") == 0 || std::strcmp(row->scope, "launch") == 0)) {
    given.problem = said + " is ignored: it must be in the environment";
  } else if (const std::string takes = what_it_takes(*row, given.text); takes.empty()) {
    (void)assign_setting(sources.settings, given.variable, given.text);
  } else if (given.variable == "CROSSRAIL") {
    // Meant to switch it off, most likely.
    sources.settings.enabled = 0;
    given.problem = said + " is neither on nor off: crossrail is off";
  } else {
    given.problem = said + " is ignored: it takes " + takes + "; " + held_instead(sources, *row) + " is used";
  }
  sources.given.push_back(std::move(given));
}

void take_line(SettingSources& sources, const std::string& line, const std::string& from) {
  const std::string words = trimmed(without_comment(line));
  if (words.empty()) return;
  const auto equals = words.find('=');
  const std::string name = trimmed(words.substr(0, equals));
  const std::string value = equals == std::string::npos ? "" : trimmed(words.substr(equals + 1));
  if (equals == std::string::npos || name.empty()) {
    sources.given.push_back({"", words, from, from + ": '" + printable(words) + "' is no 'name = value': ignored"});
  } else if (!value.empty()) {
    take(sources, {variable_of(printable(name)), value, from, ""});
  }
}

void read_lines(SettingSources& sources, const std::string& path, const std::string& text) {
  int number = 0, bad = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t before = sources.given.size();
    take_line(sources, text.substr(at, end - at), path + ":" + std::to_string(++number));
    const bool wrong = sources.given.size() > before && !sources.given.back().problem.empty();
    if (wrong && ++bad > kMostBadLines) sources.given.pop_back();
    at = end + 1;
  }
  if (bad > kMostBadLines) {
    sources.given.push_back({"", "", path, path + ": of " + std::to_string(bad - kMostBadLines) + " more lines that make no sense nothing is said"});
  }
}

void read_settings_file(SettingSources& sources, const std::string& path, bool named) {
  const SmallFile file = read_small_file(path, kMostFileBytes);
  if (!file.there && !named) return;
  if (!file.problem.empty()) {
    sources.given.push_back({"", "", path, (named ? "CROSSRAIL_CONFIG: " : "") + printable(path) + " " + file.problem + ": ignored"});
    return;
  }
  sources.files.push_back(path);
  const bool marked = file.text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0;
  read_lines(sources, path, file.text.substr(marked ? kByteOrderMark.size() : 0));
}

// The folder of the user's files; empty where there is none.
std::string user_folder() {
  const char* const folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && folder[0] == '/') return folder;
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config" : std::string();
}

struct Places {
  std::vector<std::string> files;    // the weakest first
  std::vector<std::string> folders;  // of tables, the same way
  bool named = false;
};

Places places() {
  if (const char* const config = std::getenv("CROSSRAIL_CONFIG"); config != nullptr) {
    const std::string path = config;
    if (path.empty() || path == "none") return {};
    const auto slash = path.rfind('/');
    return {{path}, {slash == std::string::npos ? "." : path.substr(0, slash)}, true};
  }
  Places both{{CROSSRAIL_SYSCONFDIR "/crossrail.conf"}, {CROSSRAIL_SYSCONFDIR}, false};
  if (const std::string folder = user_folder(); !folder.empty()) {
    both.files.push_back(folder + "/crossrail.conf");
    both.folders.push_back(folder);
  }
  return both;
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

void find_tuning_table(SettingSources& sources, const std::vector<std::string>& folders) {
  if (!sources.settings.tuning.empty()) return;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    const std::string path = *folder + "/crossrail-tuning.csv";
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || path.find('\n') != std::string::npos) continue;
    if (const std::string problem = kind_problem(status); !problem.empty()) {
      sources.given.push_back({"", "", path, printable(path) + " " + problem + ": ignored"});
      continue;
    }
    sources.settings.tuning = path;
    sources.given.push_back({"CROSSRAIL_TUNING", path, "found", ""});
    return;
  }
}

}  // namespace

SettingSources read_setting_sources() {
  SettingSources sources;
  const Places at = places();
  for (const std::string& path : at.files) read_settings_file(sources, path, at.named);
  read_environment(sources);
  find_tuning_table(sources, at.folders);
  return sources;
}

SettingSources& process_setting_sources() {
  // Never destroyed: the report is written when the process ends, after destructors have begun.
  static SettingSources& sources = *new SettingSources(read_setting_sources());
  return sources;
}

}  // namespace crossrail
