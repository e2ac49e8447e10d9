// The public C API over the engine's own tables.

#include "crossrail/crossrail.h"

#include <string>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "api/json.h"

using crossrail::json_text;

namespace {

// Rows of the catalogue, each with a comma behind it.
std::string rows_of(crossrail::Collective collective, crossrail::Memory memory) {
  std::string json;
  for (const auto& row : crossrail::catalogue(collective, memory)) {
    json += std::string("{\"collective\":") + json_text(crossrail::name_of(collective)) +
            ",\"memory\":" + json_text(crossrail::name_of(memory)) + ",\"name\":" + json_text(row.name) +
            ",\"summary\":" + json_text(row.summary) + "},";
  }
  return json;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* crossrail_version(void) { return CROSSRAIL_VERSION; }

__attribute__((visibility("default"))) const char* crossrail_catalogue(void) {
  static thread_local std::string json;
  json = "[";
  for (const auto collective : crossrail::kCollectives) {
    for (const auto memory : crossrail::kMemories) json += rows_of(collective, memory);
  }
  if (json.back() == ',') json.pop_back();
  json += "]";
  return json.c_str();
}

__attribute__((visibility("default"))) const char* crossrail_settings(void) {
  static thread_local std::string json;
  const auto values = crossrail::setting_values(crossrail::process_settings());
  const auto& rows = crossrail::setting_rows();
  json = "[";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    json += (row == 0 ? "" : ",") + std::string("{\"variable\":") + json_text(rows[row].variable) +
            ",\"kind\":" + json_text(rows[row].kind) + ",\"scope\":" + json_text(rows[row].scope) +
            ",\"preset\":" + json_text(rows[row].preset) + ",\"value\":" + json_text(values[row]) +
            ",\"help\":" + json_text(rows[row].help) + "}";
  }
  json += "]";
  return json.c_str();
}
}
