#include "topology/mpi_version.h"

#include <cctype>

namespace crossrail {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Returns where the numbers from `at` on, with dots between them, end.
std::size_t end_of_numbers(const std::string& text, std::size_t at) {
  while (at < text.size() && (is_digit(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1])))) ++at;
  return at;
}

}  // namespace

bool parse_mpi_version(const std::string& text, MpiVersion& version) {
  version = {};
  std::size_t at = 0;
  while (at < text.size() && is_letter(text[at])) version.library += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at++])));
  if (version.library.empty() || end_of_numbers(text, at) != text.size()) return text.empty();
  for (int value = 0; at < text.size(); ++at) {
    if (text[at] != '.') {
      if (value > 99'999'999) return false;
      value = 10 * value + (text[at] - '0');
    }
    if (text[at] == '.' || at + 1 == text.size()) {
      version.numbers.push_back(value);
      value = 0;
    }
  }
  return true;
}

std::string mpi_name(const std::string& said) {
  MpiVersion version;
  if (parse_mpi_version(said, version)) return said;
  std::string name = said.find("Open MPI") != std::string::npos ? "openmpi" : "";
  for (std::size_t at = 0; name != "openmpi" && at < said.size() && is_letter(said[at]); ++at) {
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(said[at])));
  }
  // Numbers without a dot are skipped, because MVAPICH2's name has one.
  for (std::size_t at = 0; at < said.size(); ++at) {
    if (!is_digit(said[at])) continue;
    const std::size_t end = end_of_numbers(said, at);
    const std::string numbers = said.substr(at, end - at);
    if (numbers.find('.') != std::string::npos) return parse_mpi_version(name + numbers, version) ? name + numbers : name;
    at = end - 1;
  }
  return name;
}

}  // namespace crossrail
