// This file says what is set, where it comes from, and what is wrong with it.

#include <string>
#include <vector>

#include "api/table.h"
#include "base/json.h"
#include "base/setting_check.h"
#include "base/setting_sources.h"
#include "base/small_file.h"
#include "crossrail/crossrail.h"
#include "selection/selection.h"

namespace crossrail {

std::string read_table(const std::string& path, std::vector<TuningRow>& rows) {
  const SmallFile file = read_small_file(path, kMostTableBytes);
  if (!file.problem.empty()) return path + " " + file.problem + ": the built-in table is used";
  const std::size_t before = rows.size();
  const Status read = read_tuning(file.text, path, rows);
  if (!read.ok()) return std::string(read.what) + ": what follows is not used";
  return rows.size() == before ? path + " has no row: the built-in table is used" : "";
}

namespace {

// This checks what base/ cannot know: the algorithms, and what stands in a table.
std::string problem_of_value(const GivenSetting& given) {
  if (!given.problem.empty()) return given.problem;
  if (given.variable == "CROSSRAIL_TUNING") {
    std::vector<TuningRow> rows;
    const std::string wrong = read_table(given.text, rows);
    return wrong.empty() ? wrong : "CROSSRAIL_TUNING: " + wrong;
  }
  for (const Collective collective : kCollectives) {
    Wanted wanted;
    if (given.variable != row_of(collective).setting) continue;
    const Status status = read_wanted(collective, given.text, wanted);
    if (!status.ok()) return given.variable + "=" + printable(given.text) + " is ignored: " + status.what + " (see 'crossrail list')";
  }
  return {};
}

// Returns whether no later entry names the same variable.
bool holds(const std::vector<GivenSetting>& given, std::size_t which) {
  for (std::size_t later = which + 1; later < given.size(); ++later) {
    if (given[later].variable == given[which].variable && given[later].problem.empty()) return false;
  }
  return true;
}

std::string settings_given() {
  const SettingSources& sources = process_setting_sources();
  std::string json = "{\"files\":[" + (sources.file.empty() ? "" : json_text(sources.file)) + "],\"given\":[";
  for (std::size_t which = 0; which < sources.given.size(); ++which) {
    const GivenSetting& given = sources.given[which];
    const std::string wrong = problem_of_value(given);
    const bool used = wrong.empty() && holds(sources.given, which);
    json += (which == 0 ? "" : ",") + std::string("{\"variable\":") + json_text(given.variable) + ",\"value\":" + json_text(given.text) +
            ",\"from\":" + json_text(given.from) + ",\"used\":" + (used ? "true" : "false") + ",\"wrong\":" + json_text(wrong) + "}";
  }
  return json + "]}";
}

}  // namespace
}  // namespace crossrail

extern "C" __attribute__((visibility("default"))) const char* crossrail_settings_given(void) {
  static thread_local std::string json;
  json = crossrail::settings_given();
  return json.c_str();
}
