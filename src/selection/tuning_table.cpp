// This file reads a tuning table.

#include <algorithm>
#include <sstream>

#include "base/settings.h"
#include "selection/selection.h"

namespace crossrail {
namespace {

struct Column {
  const char* name;
  bool required;
  Status (*read)(const std::string& cell, TuningRow& row);
};

Status unless(bool good, const char* wrong) { return good ? Status{} : failed(Code::invalid, wrong); }

Status read_up_to(const std::string& cell, TuningRow& row) {
  return unless(cell == "*" || parse_bytes(cell, row.up_to_bytes), "up_to_bytes is no size or *");
}

Status copy_word(const std::string& cell, std::string& word, const char* wrong) {
  word = cell;
  return unless(!cell.empty(), wrong);
}

constexpr Column kColumns[] = {
    {"collective", true, [](const std::string& cell, TuningRow& row) { return copy_word(cell, row.collective, "collective is empty"); }},
    {"memory", true, [](const std::string& cell, TuningRow& row) { return copy_word(cell, row.memory, "memory is empty"); }},
    {"mpi", false, [](const std::string& cell, TuningRow& row) {
       return unless(parse_mpi_range(cell, row.mpi), "mpi is no library with a range of versions (openmpi, openmpi4-5, mpich5-) or *");
     }},
    {"nodes", true, [](const std::string& cell, TuningRow& row) { return unless(parse_range(cell, row.nodes), "nodes is no number, range or *"); }},
    {"ranks_per_node", true, [](const std::string& cell, TuningRow& row) {
       return unless(parse_range(cell, row.ranks_per_node), "ranks_per_node is no number, range or *");
     }},
    {"ranks_per_device", false, [](const std::string& cell, TuningRow& row) {
       return unless(parse_range(cell, row.ranks_per_device), "ranks_per_device is no number, range or *");
     }},
    {"up_to_bytes", true, read_up_to},
    {"algorithm", true, [](const std::string& cell, TuningRow& row) { return copy_word(cell, row.algorithm, "algorithm is empty"); }},
    {"parameters", false, [](const std::string& cell, TuningRow& row) { return read_parameters(cell, row.parameters); }},
};
constexpr const char* kWithoutHeader = "collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(trimmed(cell));
  return cells;
}

class Reader {
 public:
  Reader() { (void)read_header(cells_of(kWithoutHeader)); }

  // Sets `header` to true if the line names the columns instead of being a row.
  Status read_line(const std::string& line, TuningRow& row, bool& header) {
    const std::vector<std::string> cells = cells_of(line);
    header = std::find(cells.begin(), cells.end(), "collective") != cells.end();
    return header ? read_header(cells) : read_row(cells, row);
  }

 private:
  Status read_header(const std::vector<std::string>& cells) {
    columns_.clear();
    for (const std::string& cell : cells) {
      const auto known = std::find_if(std::begin(kColumns), std::end(kColumns), [&](const Column& one) { return cell == one.name; });
      if (known == std::end(kColumns)) return failure(Code::invalid, "there is no column '%s'", cell.c_str());
      if (std::count(cells.begin(), cells.end(), cell) > 1) return failure(Code::invalid, "the column %s stands twice", known->name);
      columns_.push_back(known);
    }
    for (const Column& one : kColumns) {
      if (one.required && std::find(columns_.begin(), columns_.end(), &one) == columns_.end()) {
        return failure(Code::invalid, "the column %s is missing", one.name);
      }
    }
    return {};
  }

  Status read_row(const std::vector<std::string>& cells, TuningRow& row) const {
    if (cells.size() > columns_.size()) return failed(Code::invalid, "more cells than columns");
    for (std::size_t number = 0; number < columns_.size(); ++number) {
      const Column& column = *columns_[number];
      if (number < cells.size()) {
        CROSSRAIL_TRY(column.read(cells[number], row));
      } else if (column.required) {
        return failure(Code::invalid, "%s is missing", column.name);
      }
    }
    return check_algorithm(row);
  }

  // Parameters of an algorithm that this library does not have are not looked at: the row is passed over.
  static Status check_algorithm(const TuningRow& row) {
    if (row.algorithm == "native") return check_parameters(nullptr, row.parameters);
    const CollectiveRow* collective = find_collective(row.collective);
    const Algorithm* algorithm = nullptr;
    if (collective != nullptr && row.memory != name_of(Memory::host)) algorithm = find_algorithm(collective->collective, row.algorithm, Memory::device);
    // On several nodes, algorithms for host memory take device memory, too.
    if (collective != nullptr && algorithm == nullptr) algorithm = find_algorithm(collective->collective, row.algorithm, Memory::host);
    return algorithm == nullptr ? Status{} : check_parameters(algorithm, row.parameters);
  }

  std::vector<const Column*> columns_;
};

}  // namespace

Status read_tuning(const std::string& csv, const std::string& name, std::vector<TuningRow>& rows) {
  std::istringstream lines(csv);
  std::string line;
  Reader reader;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    TuningRow row;
    bool header = false;
    const Status status = reader.read_line(line, row, header);
    if (!status.ok()) {
      const std::string wrong = status.what;  // The text of a Status lasts until the next one is made.
      return failure(Code::invalid, "%s:%d: %s", name.c_str(), number, wrong.c_str());
    }
    if (header) continue;
    row.origin = name + ":" + std::to_string(number);
    rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace crossrail
