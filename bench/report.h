// A Report prints the rows of a bench as a table on standard output and as JSON.
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
  std::string algorithm;  // It handled the call.
  Statistics times;
  int repetitions;
  double bandwidth;  // It is in bytes per second.
  std::uint64_t wrong;
  bool checked;  // It is false for a peer that does not make the whole exchange.
  bool wanted = true;  // It is false if another algorithm ran than the contender's name says.
  std::optional<Overlap> overlap;  // It is set if the call has parts.
  int processes = 0;               // They are the processes of a GPU, if the bench knows.
};

class Report {
 public:
  Report(const std::string& name, const Options& options, int rank);  // For example, `name` is ialltoall.
  void add(const Row& row);
  // The time was over before this size and the larger ones were measured.
  void cut_short(std::size_t bytes);
  // Writes what is known so far, in case the bench is stopped.
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
  std::size_t cut_short_at_ = 0;  // Zero means that all sizes were measured.
  std::vector<Row> rows_;
};

}  // namespace bench
