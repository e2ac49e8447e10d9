// This file is the public C API over the engine's own tables.

#include "crossrail/crossrail.h"

#include <string>

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "base/json.h"
#include "selection/parameters.h"

using crossrail::json_text;

namespace {

std::string json_of(const crossrail::Parameter& one) {
  std::string values;
  for (const auto value : one.values) values += (values.empty() ? "" : ",") + std::to_string(value);
  return std::string("{\"name\":") + json_text(one.name) + ",\"default\":" + std::to_string(one.preset) +
         ",\"unit\":" + json_text(crossrail::name_of(one.unit)) + ",\"values\":[" + values + "],\"help\":" + json_text(one.help) + "}";
}

// Returns rows of the catalogue, each with a comma behind it.
std::string rows_of(crossrail::Collective collective, crossrail::Memory memory) {
  std::string json;
  for (const auto& row : crossrail::catalogue(collective, memory)) {
    std::string parameters;
    for (const auto* one : row.parameters) parameters += (parameters.empty() ? "" : ",") + json_of(*one);
    json += std::string("{\"collective\":") + json_text(crossrail::name_of(collective)) +
            ",\"memory\":" + json_text(crossrail::name_of(memory)) + ",\"name\":" + json_text(row.name) +
            ",\"summary\":" + json_text(row.summary) + ",\"parameters\":[" + parameters + "]},";
  }
  return json;
}

std::string json_of(const crossrail::CollectiveRow& row) {
  std::string calls;
  for (const char* call : row.calls) calls += (calls.empty() ? "" : ",") + json_text(call);
  return std::string("{\"name\":") + json_text(row.name) + ",\"mpi\":[" + calls + "],\"counts\":" +
         json_text(crossrail::name_of(row.counts)) + ",\"reduces\":" + (row.reduces ? "true" : "false") +
         ",\"setting\":" + json_text(row.setting) + "}";
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* crossrail_version(void) { return CROSSRAIL_VERSION; }

__attribute__((visibility("default"))) const char* crossrail_collectives(void) {
  static thread_local std::string json;
  json = "[";
  for (const auto collective : crossrail::kCollectives) json += (json.size() == 1 ? "" : ",") + json_of(crossrail::row_of(collective));
  json += "]";
  return json.c_str();
}

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
  crossrail::Settings settings = crossrail::process_settings();
  (void)crossrail::ignore_senseless_algorithms(settings);
  const auto values = crossrail::setting_values(settings);
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
