// The public C API over the engine's own tables.

#include "crossrail/crossrail.h"

#include <string>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "api/json.h"

using crossrail::json_text;

extern "C" {

__attribute__((visibility("default"))) const char* crossrail_version(void) { return CROSSRAIL_VERSION; }

__attribute__((visibility("default"))) const char* crossrail_catalogue(void) {
  static thread_local std::string json;
  json = "[";
  for (const auto collective : crossrail::kCollectives) {
    for (const auto& row : crossrail::catalogue(collective)) {
      json += (json.size() == 1 ? "" : ",") + std::string("{\"collective\":") +
              json_text(crossrail::name_of(collective)) + ",\"name\":" + json_text(row.name) +
              ",\"summary\":" + json_text(row.summary) + "}";
    }
  }
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
