// Simulation runs calls of one collective on a simulated world, by one algorithm after the other, and says what they took.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulated_world/world.h"

namespace crossrail::simulated_world {

// Contender says which algorithm carries a call, by its size: a row of the catalogue, with parameters behind a blank, or "auto", which is what the tuning
// table chooses.
struct Contender {
  std::string name;
  struct Choice {
    std::size_t up_to;
    std::string algorithm;
  };
  std::vector<Choice> choices;  // The first one that takes a size holds.
  // Returns null if there is none for this size.
  const std::string* algorithm_for(std::size_t bytes) const;
};

struct Job {
  Collective collective = Collective::alltoall;
  std::vector<int> node_of;
  std::vector<Contender> contenders;
  std::vector<std::size_t> sizes;       // They are Shape::block_bytes.
  int calls = 2;                        // So many calls of each size are timed, after one that makes the plan.
  std::size_t check_up_to = 64;         // Up to this size, data are moved and compared with the definition.
  int late_rank = -1;                   // This rank begins each call later by `late`.
  Time late = 0;
  Settings settings;
  std::vector<TuningRow> tuning;
  Machine machine;
};

// It is one contender at one size. What is counted is counted in the last call.
struct Cell {
  std::string algorithm;  // It is the contender's name.
  std::string chosen;     // It is the row that carried the calls.
  std::size_t bytes = 0;
  std::string error;  // If it is not empty, the algorithm does not serve such calls, or the simulation ended early.
  bool checked = false;
  std::uint64_t wrong = 0;         // So many ranks had wrong data.
  double time_us = 0;              // It is the mean of the timed calls, each from the last rank's begin to the last rank's end.
  double first_us = 0;             // It is that of the call that makes the plan.
  Traffic traffic;                 // It is that of the node with the most sends.
  std::uint64_t queue_pairs = 0;   // They are the ranks elsewhere to which the ranks of a node send, added up; the most of any node.
  std::uint64_t node_bytes = 0;    // The plan uses so much of a node's memory.
  std::uint64_t missed = 0;        // So often an adapter did not have a queue pair in its cache.
  std::uint64_t messages = 0;      // They are those of all ranks, also within nodes.
  std::uint64_t rank_bytes = 0;    // A rank of this world holds so much on the heap.
  double wall_s = 0;
};

// Calls `tell` with every cell as soon as it is known. Returns false if any data were wrong.
bool simulate(const Job& job, const std::function<void(const Cell&)>& tell);

}  // namespace crossrail::simulated_world
