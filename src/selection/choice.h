// Choice says which algorithms may carry calls of one kind, best first, for every size. It is compiled once from the tuning table, a setting
// and the Topology into sorted intervals of bytes, so that choosing for a size is a binary search. It is pure: it reads no environment and
// asks no device, so that every rank comes to the same answer.
#pragma once

#include <string>
#include <vector>

#include "collectives/algorithm.h"
#include "comm/tuning_row.h"
#include "topology/topology.h"

namespace crossrail {

// Form says what becomes of calls that no algorithm can carry.
enum class Form : std::uint8_t {
  blocking,     // The MPI library gets them, so native is always the last candidate. It knows no stream's order, so there may be no candidate.
  pending,      // The MPI library cannot take a call that has begun. So native is no candidate, and the last one cannot fail in planning.
                // If native is the best one, or if there is no such algorithm, there is no candidate, and the call is native from the start.
  never_native  // It is the same even if native is the best candidate, because MPI cannot read the memory. It is as blocking if nothing else fits.
};

// A Ground is what a choice is made for, beside the kind of call.
struct Ground {
  const Topology& topology;
  bool messages = true;      // For pending calls, this says that ranks can send each other messages.
  int ranks_per_device = 1;  // For calls on devices, at most this many ranks share one.
  // On several nodes, this says that the first call of its kind had both sides in device memory on all ranks. Rows for such memory then come
  // first. All algorithms that they name take host memory, too.
  bool devices_of_nodes = false;
  Form form = Form::blocking;
};

struct Candidate {
  const Algorithm* algorithm = nullptr;  // It is null for native.
  ParameterValues parameters;
  Fit fit;                // Native takes everything.
  std::string origin;     // It is "default.csv:12" or "setting", for example.
  bool fallback = false;  // It comes last, because no row is left.
};

class Choice {
 public:
  // The same candidates are chosen for all of these sizes.
  struct Interval {
    std::uint64_t from, up_to;
    std::vector<const Candidate*> candidates;
  };

  // The Choice is for calls that are like `shape` except for their size. `wanted` is the setting's algorithm (wanted_algorithm()), or empty if
  // there is none. It comes first if it fits.
  Choice(const std::vector<TuningRow>& rows, const std::string& wanted, const Ground& ground, const Shape& shape);
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  const Interval& at(std::uint64_t bytes) const;
  const std::vector<Interval>& intervals() const { return intervals_; }
  // Returns what would come before this candidate for calls of so many bytes, and why it does not, in a sentence each. It is made when
  // somebody asks.
  std::string passed_over(const Candidate& candidate, std::uint64_t bytes) const;

 private:
  // This is a row of the table, or a rule, that is for such calls up to some size.
  struct Option {
    Candidate candidate;
    std::string name;
    std::uint64_t up_to_bytes = ~std::uint64_t{0};
    std::string refused;  // This says why it is no candidate at any size, beside its fit.
    bool once = false;    // It is no candidate if its algorithm is one already.
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

  const Topology* topology_;  // It is valid only while the Choice is made.
  Shape shape_;
  Form form_;
  std::vector<Option> options_;
  Candidate native_;       // It is the last candidate of blocking calls.
  Candidate last_resort_;  // This algorithm for host memory cannot fail in planning. It is native if there is none.
  std::vector<Interval> intervals_;
};

// Returns why the algorithm cannot carry calls of this size, such as "does not fit: it needs all ranks on one node", or an empty text if it
// can.
std::string why_unfit(const Fit& fit, std::uint64_t bytes);

}  // namespace crossrail
