// What the ranks of nccl_ranks do.
#pragma once

#include <string>

#include "tests/nccl/nccl.h"

namespace nccl_tests {

constexpr int kKilled = 42, kSkipped = 77;

struct Rank {
  int rank = 0, size = 0;
  ncclUniqueId id{};
  std::string job;  // No other job has this name.
  int wrong = 0;
};

// Takes a device for a rank of this process. It returns false if there is none.
bool use_device(int rank);

void all_collectives(Rank& rank);
void long_calls(Rank& rank);
void operations(Rank& rank);
void run_ahead(Rank& rank);
void groups(Rank& rank);
void several_streams(Rank& rank);
void split(Rank& rank);
void shrink(Rank& rank);
void abort_one(Rank& rank);
void one_is_killed(Rank& rank);
void one_is_late(Rank& rank);
void nothing_handled(Rank& rank);
void one_forbids(Rank& rank);
void two_ranks_a_process(Rank& rank);
void end_at_once(Rank& rank);
void names(Rank& rank);
void many_communicators(Rank& rank);
void messages(Rank& rank);
void messages_ahead(Rank& rank);
void messages_mixed(Rank& rank);
void messages_abort(Rank& rank);
void messages_killed(Rank& rank);
void messages_leave(Rank& rank);
void messages_early(Rank& rank);
void messages_graphs(Rank& rank);
void graphs(Rank& rank);
void forked_graphs(Rank& rank);
void graphs_outlive(Rank& rank);

}  // namespace nccl_tests
