// The rows of a bench: a table on standard output, and JSON.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace bench {

struct Row {
  std::size_t bytes;
  std::string contender;
  std::string algorithm;  // that carried it
  Statistics times;
  int repetitions;
  double bandwidth;  // bytes a second
  std::uint64_t wrong;
  bool checked;  // false: a peer that does not make the whole exchange
};

class Report {
 public:
  Report(const char* collective, const Options& options, int rank);
  void add(const Row& row);
  // The time was over before this size and the larger ones.
  void cut_short(std::size_t bytes);
  // Writes the JSON file. Returns false if any block was wrong.
  bool finish();

 private:
  std::string header() const;
  std::string memory() const;

  std::string collective_;
  Options options_;
  int rank_;
  int ranks_ = 1, nodes_ = 1, largest_node_ = 1;
  std::size_t cut_short_at_ = 0;  // 0: all sizes were measured
  std::vector<Row> rows_;
};

}  // namespace bench
