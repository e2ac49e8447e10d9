// The rows of a bench: a table on standard output, and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness.h"
#include "overlap.h"

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
  bool wanted = true;  // false: another algorithm ran than the contender's name says
  std::optional<Overlap> overlap;  // where the call has parts
  int processes = 0;               // of a GPU, where the bench knows
};

class Report {
 public:
  Report(const std::string& name, const Options& options, int rank);  // name: ialltoall
  void add(const Row& row);
  // The time was over before this size and the larger ones.
  void cut_short(std::size_t bytes);
  // Writes what is known so far, for a bench that is stopped.
  void keep() const;
  // Writes the JSON file. Returns false if any block was wrong.
  bool finish();

 private:
  bool write(bool finished) const;
  std::string header() const;
  std::string memory() const;

  std::string name_;
  Options options_;
  int rank_;
  int ranks_ = 1, nodes_ = 1, largest_node_ = 1;
  std::size_t cut_short_at_ = 0;  // 0: all sizes were measured
  std::vector<Row> rows_;
};

}  // namespace bench
