#include "base/setting_check.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace crossrail {
namespace {

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

bool parse_level(const std::string& text, std::uint64_t& value) {
  std::uint64_t level = 0;
  if (!parse_bytes(text, level) || level > 2) return false;
  value = level;
  return true;
}

bool is_line(const std::string& text) { return text.find_first_of("\r\n") == std::string::npos; }

// Returns whether there are entries between the commas and all of them are good.
template <typename Good>
bool all_entries(const std::string& text, Good good) {
  std::istringstream list(text);
  std::string entry;
  int entries = 0;
  for (; std::getline(list, entry, ','); ++entries) {
    if (!good(entry)) return false;
  }
  return entries > 0 && text.back() != ',';
}

bool is_segment(const std::string& word) { return word == "memfd" || word == "shm" || word == "none"; }

bool is_number(const std::string& word) {
  return !word.empty() && word.size() < 10 && std::all_of(word.begin(), word.end(), [](unsigned char one) { return std::isdigit(one) != 0; });
}

// An empty text is the default of settings that are texts, and may be given.
bool is_text(const std::string& kind, const std::string& text) {
  if (text.empty()) return true;
  if (kind == "segments") return all_entries(text, is_segment);
  if (kind == "nodes") return all_entries(text, is_number);
  return is_line(text);
}

bool parse(const char* kind, const std::string& text, std::string& value) {
  if (!is_text(kind, text)) return false;
  value = text;
  return true;
}

bool parse(const char* kind, const std::string& text, std::uint64_t& value) {
  if (std::strcmp(kind, "flag") == 0) return parse_flag(text, value);
  return std::strcmp(kind, "level") == 0 ? parse_level(text, value) : parse_bytes(text, value);
}

struct Takes {
  const char* kind;
  const char* words;
};
constexpr Takes kTakes[] = {
    {"flag", "0 or 1"}, {"bytes", "a size such as 64M"}, {"level", "0, 1 or 2"}, {"count", "a number"},
    {"segments", "memfd, shm and none, with commas between them"}, {"nodes", "numbers with commas between them, such as 0,0,1,1"},
};

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

const SettingRow* setting_row(const std::string& variable) {
  for (const SettingRow& row : setting_rows()) {
    if (variable == row.variable) return &row;
  }
  return nullptr;
}

std::string what_it_takes(const SettingRow& row, const std::string& text) {
  Settings unused;
  if (assign_setting(unused, row.variable, text)) return {};
  for (const Takes& takes : kTakes) {
    if (std::strcmp(row.kind, takes.kind) == 0) return takes.words;
  }
  return "one line";
}

std::string printable(const std::string& text) {
  std::string line = text.substr(0, 100);
  std::replace_if(line.begin(), line.end(), [](unsigned char one) { return one < ' ' || one == 127; }, '?');
  return line + (text.size() > line.size() ? "..." : "");
}

bool assign_setting(Settings& settings, const std::string& variable, const std::string& text) {
#define SETTING(member, name, kind, preset, scope, help) \
  if (variable == name) return parse(#kind, text, settings.member);
#include "base/settings.def"
#undef SETTING
  return false;
}

}  // namespace crossrail
