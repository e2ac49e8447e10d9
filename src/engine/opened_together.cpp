#include "engine/opened_together.h"

#include <memory>
#include <mutex>
#include <sstream>

#include "base/log.h"
#include "base/small_file.h"
#include "selection/selection.h"

namespace crossrail {
namespace {

std::string read_table(const std::string& path) {
  const SmallFile file = read_small_file(path, kMostTableBytes);
  if (!file.problem.empty()) log_line(LogLevel::error, "CROSSRAIL_TUNING=%s %s: the built-in table is used", path.c_str(), file.problem.c_str());
  return file.text;
}

struct TableFile {
  std::string name, text;
  bool operator==(const TableFile&) const = default;
};

std::vector<TuningRow> read_rows(const TableFile& file, bool speaks) {
  std::vector<TuningRow> rows;
  const Status read = read_tuning(file.text, file.name, rows);
  if (!read.ok() && speaks) log_line(LogLevel::error, "tuning table: %s: the rest of it is ignored", read.what);
  const Status built_in = read_tuning(default_tuning(), "default.csv", rows);
  if (!built_in.ok()) log_line(LogLevel::error, "built-in tuning table: %s", built_in.what);
  return rows;
}

// A process opens many communicators, all with the same table. Reading a table
// takes as long as a hundred calls, so the last one that was read is kept.
std::shared_ptr<const std::vector<TuningRow>> rows_of(const TableFile& file, bool speaks) {
  static std::mutex mutex;
  static TableFile& last = *new TableFile;
  static std::shared_ptr<const std::vector<TuningRow>>& rows = *new std::shared_ptr<const std::vector<TuningRow>>;
  const std::lock_guard lock(mutex);
  if (rows == nullptr || file != last) {
    rows = std::make_shared<const std::vector<TuningRow>>(read_rows(file, speaks));
    last = file;
  }
  return rows;
}

}  // namespace

bool take_over_settings(Communicator& communicator, const std::vector<Location>& locations, Exchange& exchange, std::string& of_communicator) {
  communicator.settings = process_settings();
  bool same = true;
  for (const Location& at : locations) same = same && at.settings == locations[0].settings;
  if (same) {
    apply_communicator_settings(of_communicator, communicator.settings);
  } else {
    std::string text = communicator_settings_text(process_settings());
    if (!exchange.broadcast(text) || !exchange.broadcast(of_communicator)) return false;
    apply_communicator_settings(text + of_communicator, communicator.settings);
  }
  const bool leads = communicator.topology.rank == 0;
  if (!communicator.settings.tuning.empty()) {
    std::string table = leads ? read_table(communicator.settings.tuning) : std::string();
    if (!exchange.broadcast(table)) return false;
    communicator.tuning = rows_of({communicator.settings.tuning, table}, leads);
  } else {
    communicator.tuning = rows_of({}, leads);
  }
  return true;
}

std::string share_any_segment(Communicator& communicator, Exchange& exchange) {
  if (communicator.topology.size == 1) return {};
  std::stringstream kinds(communicator.settings.segment);
  std::string kind;
  while (std::getline(kinds, kind, ',')) {
    if (kind == "none") break;
    const std::size_t bytes = segment_layout(communicator.topology.node_size(), communicator.settings).total_bytes();
    if (!share_segment(communicator.memory, {communicator.topology, kind, bytes}, exchange)) continue;
    communicator.place_slots(communicator.memory.data());
    communicator.topology.shared_segment = true;
    return kind;
  }
  return {};
}

}  // namespace crossrail
