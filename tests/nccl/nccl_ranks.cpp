// Processes that call NCCL without MPI, on a device that is made of host memory, with crossrail's shim before a library that stands in for NCCL.
//
//   nccl_ranks SHIM SCENARIO RANKS           starts the ranks, each with SHIM preloaded
//   nccl_ranks SHIM SCENARIO RANKS RANK ID   is one of them; ID is NCCL's unique id in hexadecimal digits

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/nccl/scenarios.h"

namespace {

using nccl_tests::Rank;

struct Scenario {
  const char* name;
  void (*run)(Rank& rank);
};
constexpr Scenario kScenarios[] = {
    {"all", nccl_tests::all_collectives}, {"long", nccl_tests::long_calls}, {"operations", nccl_tests::operations}, {"ahead", nccl_tests::run_ahead},     {"groups", nccl_tests::groups},       {"streams", nccl_tests::several_streams},
    {"split", nccl_tests::split},         {"shrink", nccl_tests::shrink},       {"abort", nccl_tests::abort_one},     {"killed", nccl_tests::one_is_killed},
    {"late", nccl_tests::one_is_late},    {"off", nccl_tests::nothing_handled}, {"partial", nccl_tests::nothing_handled}, {"names", nccl_tests::names},
    {"many", nccl_tests::many_communicators}, {"forbidden", nccl_tests::one_forbids}, {"threads", nccl_tests::two_ranks_a_process},
    {"ended", nccl_tests::end_at_once},   {"graphs", nccl_tests::graphs},       {"forks", nccl_tests::forked_graphs}, {"outlives", nccl_tests::graphs_outlive},
    {"messages", nccl_tests::messages},   {"messages_ahead", nccl_tests::messages_ahead}, {"messages_mixed", nccl_tests::messages_mixed},
    {"messages_abort", nccl_tests::messages_abort}, {"messages_killed", nccl_tests::messages_killed}, {"messages_leave", nccl_tests::messages_leave},
    {"messages_early", nccl_tests::messages_early}, {"messages_graphs", nccl_tests::messages_graphs},
};

std::string digits_of(const ncclUniqueId& id) {
  std::string digits;
  for (const char byte : id.internal) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    digits += two;
  }
  return digits;
}

void read_id(const std::string& digits, ncclUniqueId& id) {
  for (std::size_t at = 0; at < sizeof id.internal && 2 * at + 2 <= digits.size(); ++at) {
    id.internal[at] = static_cast<char>(std::stoi(digits.substr(2 * at, 2), nullptr, 16));
  }
}

int run_rank(const char* scenario, Rank& rank) {
  for (const Scenario& one : kScenarios) {
    if (std::strcmp(one.name, scenario) != 0) continue;
    one.run(rank);
    std::printf("rank %d: %s\n", rank.rank, rank.wrong == 0 ? "PASS" : "FAIL");
    return rank.wrong == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "no scenario %s\n", scenario);
  return 2;
}

// In the scenario `partial` the last rank runs without crossrail.
pid_t start(char** words, int rank, const std::string& id) {
  const pid_t child = fork();
  if (child != 0) return child;
  const bool without = std::strcmp(words[2], "partial") == 0 && rank == std::atoi(words[3]) - 1;
  if (!without) setenv("LD_PRELOAD", words[1], 1);
  if (std::strcmp(words[2], "off") == 0) setenv("CROSSRAIL", "0", 1);
  const std::string number = std::to_string(rank);
  execl("/proc/self/exe", words[0], words[1], words[2], words[3], number.c_str(), id.c_str(), nullptr);
  _exit(127);
}

// The rank that a scenario kills ends with kKilled, and all end with kSkipped where there is no GPU.
int start_all(char** words) {
  const int ranks = std::atoi(words[3]);
  ncclUniqueId id{};
  if (ncclGetUniqueId(&id) != ncclSuccess) return 2;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) children.push_back(start(words, rank, digits_of(id)));
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    (void)waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (code == nccl_tests::kSkipped) return code;
    failed += code == 0 || code == nccl_tests::kKilled ? 0 : 1;
  }
  std::printf("%s\n", failed == 0 ? "PASS" : "FAIL");
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return start_all(argv);
  if (argc != 6) return 2;
  alarm(60);  // A rank that hangs ends.
  Rank rank;
  rank.size = std::atoi(argv[3]);
  rank.rank = std::atoi(argv[4]);
  read_id(argv[5], rank.id);
  rank.job = std::string(argv[5]).substr(0, 40);
  return run_rank(argv[2], rank);
}
