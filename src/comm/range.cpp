#include "comm/range.h"

#include <algorithm>

#include "base/settings.h"

namespace crossrail {
namespace {

// Returns as many numbers as `like` has. Missing ones are 0.
std::vector<int> cut(std::vector<int> numbers, const std::vector<int>& like) {
  numbers.resize(like.size());
  return numbers;
}

}  // namespace

bool parse_range(const std::string& text, Range& range) {
  range = {};
  if (text == "*") return true;
  const auto dash = std::min(text.find('-'), text.size());
  if (!parse_bytes(text.substr(0, dash), range.low) || range.low < 1) return false;
  if (dash == text.size()) range.high = range.low;
  if (dash + 1 >= text.size()) return true;
  return parse_bytes(text.substr(dash + 1), range.high) && range.high >= range.low;
}

bool MpiRange::contains(const MpiVersion& version) const {
  if (library.empty()) return true;
  return version.library == library && cut(version.numbers, low) >= low && cut(version.numbers, high) <= high;
}

bool parse_mpi_range(const std::string& text, MpiRange& range) {
  range = {};
  if (text == "*") return true;
  const auto dash = std::min(text.find('-'), text.size());
  MpiVersion from, to;
  if (dash == 0 || text.empty() || !parse_mpi_version(text.substr(0, dash), from)) return false;
  range = {from.library, from.numbers, from.numbers};
  if (dash == text.size()) return true;
  range.high.clear();
  if (from.numbers.empty()) return false;
  if (dash + 1 == text.size()) return true;
  if (!parse_mpi_version(from.library + text.substr(dash + 1), to) || to.library != from.library) return false;
  range.high = to.numbers;
  return cut(from.numbers, to.numbers) <= to.numbers;
}

}  // namespace crossrail
