// Choice: which algorithms may carry calls of one kind, best first, for every size. It is compiled once from the tuning table, a setting and
// the Topology into sorted intervals of bytes, so that choosing for a size is a binary search. It is pure: it reads no environment and asks
// no device, so that every rank comes to the same answer.
#pragma once

#include <string>
#include <vector>

#include "collectives/algorithm.h"
#include "comm/tuning_row.h"
#include "topology/topology.h"

namespace crossrail {

// What becomes of calls that no algorithm can carry.
enum class Form : std::uint8_t {
  blocking,     // The MPI library gets them: native is always the last candidate. It does not know a stream's order: there may be no candidate.
  pending,      // The MPI library cannot have a call that has begun: no native, and at the end an algorithm whose planning cannot fail.
                // No candidate where native is the best one, or where there is no such algorithm: the call is native from the start.
  never_native  // The same even where native is the best candidate, because the MPI library cannot read the memory. As blocking if there is no other way.
};

// What is chosen for, beside the kind of call.
struct Ground {
  const Topology& topology;
  bool messages = true;      // pending calls: ranks can send each other messages
  int ranks_per_device = 1;  // calls on devices: the most that share one
  // Several nodes: the first call of its kind had both sides in device memory on all ranks. Rows of such memory then come first; all
  // that they name takes host memory, too.
  bool devices_of_nodes = false;
  Form form = Form::blocking;
};

struct Candidate {
  const Algorithm* algorithm = nullptr;  // null: native
  ParameterValues parameters;
  Fit fit;                // of native: everything
  std::string origin;     // "default.csv:12", "setting"
  bool fallback = false;  // it comes last, because no row is left
};

class Choice {
 public:
  // Sizes for which the same candidates are chosen.
  struct Interval {
    std::uint64_t from, up_to;
    std::vector<const Candidate*> candidates;
  };

  // For calls that are like `shape` but for their size. `wanted` is the setting's (wanted_algorithm()), empty for none: it comes first where it fits.
  Choice(const std::vector<TuningRow>& rows, const std::string& wanted, const Ground& ground, const Shape& shape);
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  const Interval& at(std::uint64_t bytes) const;
  const std::vector<Interval>& intervals() const { return intervals_; }
  // What would come before this candidate for calls of so many bytes, and why it does not: a sentence each. Made when somebody asks.
  std::string passed_over(const Candidate& candidate, std::uint64_t bytes) const;

 private:
  // A row of the table, or a rule, that is for such calls up to some size.
  struct Option {
    Candidate candidate;
    std::string name;
    std::uint64_t up_to_bytes = ~std::uint64_t{0};
    std::string refused;  // why it is no candidate at any size, beside its fit
    bool once = false;    // no candidate where its algorithm is one already
    bool is_for(std::uint64_t bytes) const { return bytes <= up_to_bytes; }
    bool can(std::uint64_t bytes) const { return refused.empty() && candidate.fit.takes(bytes); }
  };

  void consider(const std::string& name, const Parameters& parameters, Option option);
  void consider_setting(const std::string& wanted);
  void consider_rows(const std::vector<TuningRow>& rows, const Ground& ground, const char* memory);
  void consider_rank_order();
  void find_last_resort(const Ground& ground);
  std::vector<const Candidate*> blocking_at(std::uint64_t bytes) const;
  std::vector<const Candidate*> never_native_at(std::uint64_t bytes) const;
  std::vector<const Candidate*> candidates_at(std::uint64_t bytes) const;
  void find_intervals();

  const Topology* topology_;  // while it is made
  Shape shape_;
  Form form_;
  std::vector<Option> options_;
  Candidate native_;       // the last candidate of blocking calls
  Candidate last_resort_;  // an algorithm for host memory whose planning cannot fail; native: there is none
  std::vector<Interval> intervals_;
};

// Why the algorithm cannot carry calls of this size: "does not fit: it needs all ranks on one node". Empty where it can.
std::string why_unfit(const Fit& fit, std::uint64_t bytes);

}  // namespace crossrail
