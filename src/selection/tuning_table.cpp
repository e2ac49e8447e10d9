// Reading a tuning table.

#include <algorithm>
#include <sstream>

#include "base/settings.h"
#include "selection/selection.h"

namespace crossrail {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "*", "4", "2-", "2-8"
bool is_range(const std::string& text) {
  if (text == "*") return true;
  const auto dash = std::min(text.find('-'), text.size());
  std::uint64_t low = 0, high = 0;
  if (!parse_bytes(text.substr(0, dash), low) || low < 1) return false;
  if (dash + 1 >= text.size()) return true;
  return parse_bytes(text.substr(dash + 1), high) && high >= low;
}

// False with the reason in `wrong`.
bool read_row(const std::string& line, TuningRow& row, std::string& wrong) {
  std::istringstream cells(line);
  std::string bytes, parameters;
  std::string* const columns[] = {&row.collective, &row.memory, &row.nodes, &row.ranks_per_node,
                                  &bytes,          &row.algorithm, &parameters};
  int column = 0;
  std::string cell;
  while (std::getline(cells, cell, ',') && column < 7) *columns[column++] = trimmed(cell);
  wrong = column < 6                                            ? "fewer than six columns"
          : !is_range(row.nodes)                                ? "nodes is no number, range or *"
          : !is_range(row.ranks_per_node)                       ? "ranks_per_node is no number, range or *"
          : bytes != "*" && !parse_bytes(bytes, row.up_to_bytes) ? "up_to_bytes is no size or *"
          : !read_parameters(parameters, row.parameters)        ? "parameters are not name=number"
                                                                : "";
  return wrong.empty();
}

}  // namespace

bool read_parameters(const std::string& text, Parameters& parameters) {
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    const auto equals = word.find('=');
    std::uint64_t value = 0;
    if (equals == std::string::npos || !parse_bytes(word.substr(equals + 1), value)) return false;
    parameters[word.substr(0, equals)] = value;
  }
  return true;
}

Status read_tuning(const std::string& csv, const std::string& name, std::vector<TuningRow>& rows) {
  std::istringstream lines(csv);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty() || line.rfind("collective,", 0) == 0) continue;
    TuningRow row;
    std::string wrong;
    if (!read_row(line, row, wrong)) {
      return failure(Code::invalid, "%s:%d: %s", name.c_str(), number, wrong.c_str());
    }
    row.origin = name + ":" + std::to_string(number);
    rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace crossrail
