// crossrail_machine describes the machine as JSON.

#include "topology/machine.h"

#include "base/json.h"
#include "crossrail/crossrail.h"

namespace crossrail {
namespace {

std::string json_of(const Machine::Domain& domain) {
  return "{\"number\":" + std::to_string(domain.number) + ",\"cpus\":" + json_text(domain.cpus) +
         ",\"memory_bytes\":" + std::to_string(domain.memory_bytes) + "}";
}

std::string json_of(const Machine::Cache& cache) {
  return "{\"level\":" + std::to_string(cache.level) + ",\"bytes\":" + std::to_string(cache.bytes) +
         ",\"count\":" + std::to_string(cache.count) + "}";
}

std::string json_of(const std::string& text) { return json_text(text); }

template <class Row>
std::string json_of(const std::vector<Row>& rows);

std::string members_of(const Machine::Device& device) {
  const std::string model = device.model.empty() ? "" : ",\"model\":" + json_text(device.model);
  const std::string bus = device.bus.empty() ? "" : ",\"bus\":" + json_text(device.bus);
  return "\"name\":" + json_text(device.name) + model + ",\"domain\":" + std::to_string(device.domain) + bus;
}

std::string json_of(const Machine::Device& device) { return "{" + members_of(device) + "}"; }

std::string json_of(const Machine::Gpu& gpu) {
  const std::string within = gpu.within.empty() ? "" : ",\"within\":" + json_text(gpu.within);
  return "{" + members_of(gpu) + ",\"nearest_nics\":" + json_of(gpu.nearest_adapters) + within + "}";
}

template <class Row>
std::string json_of(const std::vector<Row>& rows) {
  std::string json = "[";
  for (const Row& row : rows) json += (json.size() == 1 ? "" : ",") + json_of(row);
  return json + "]";
}

std::string describe_machine() {
  Machine machine;
  if (const Status status = discover_machine(machine); !status.ok()) return "{\"error\":" + json_text(status.what) + "}";
  return "{\"packages\":" + std::to_string(machine.packages) + ",\"cores\":" + std::to_string(machine.cores) +
         ",\"threads\":" + std::to_string(machine.threads) + ",\"host\":" + json_text(machine.host) +
         ",\"cpu\":" + json_text(machine.cpu) + ",\"memory_bytes\":" + std::to_string(machine.memory_bytes) +
         ",\"domains\":" + json_of(machine.domains) + ",\"caches\":" + json_of(machine.caches) +
         ",\"gpus\":" + json_of(machine.gpus) + ",\"nics\":" + json_of(machine.nics) + "}";
}

}  // namespace
}  // namespace crossrail

extern "C" __attribute__((visibility("default"))) const char* crossrail_machine(void) {
  static thread_local std::string json;
  json = crossrail::describe_machine();
  return json.c_str();
}
