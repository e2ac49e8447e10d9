// This runs the recorded calls of a program natively (PMPI_) and with crossrail (preloaded, under the MPI_ names) in turns:
//   replay --program FILE --output FILE [--ranks N] [--turns N] [--max-time SECONDS] [--check-calls N] [--no-gaps]
#include <dlfcn.h>
#include <getopt.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "replay_definition.h"
#include "replay_player.h"
#include "turn.h"

namespace bench::replay {
namespace {

struct ReplayOptions {
  std::string program, output;
  int ranks = 0, turns = 7;
  double most_seconds = 60;
  std::uint64_t check_calls = 1000;
  bool gaps = true;
};

ReplayOptions read_words(int argc, char** argv) {
  static const option kKnown[] = {{"program", 1, nullptr, 'p'}, {"output", 1, nullptr, 'o'}, {"ranks", 1, nullptr, 'n'}, {"turns", 1, nullptr, 't'},
                                  {"max-time", 1, nullptr, 'm'}, {"check-calls", 1, nullptr, 'c'}, {"no-gaps", 0, nullptr, 'g'}, {}};
  ReplayOptions options;
  for (int found = 0; (found = getopt_long(argc, argv, "", kKnown, nullptr)) != -1;) {
    switch (found) {
      case 'p': options.program = optarg; break;
      case 'o': options.output = optarg; break;
      case 'n': options.ranks = std::atoi(optarg); break;
      case 't': options.turns = std::atoi(optarg); break;
      case 'm': options.most_seconds = std::atof(optarg); break;
      case 'c': options.check_calls = std::strtoull(optarg, nullptr, 10); break;
      case 'g': options.gaps = false; break;
      default: std::exit(2);
    }
  }
  return options;
}

[[noreturn]] void refuse(int rank, const std::string& why) {
  if (rank == 0) std::fprintf(stderr, "bench: %s\n", why.c_str());
  MPI_Finalize();
  std::exit(2);
}

// Rank 0 reads the file, which need not exist on other nodes. The parts of ranks lie between lines "rank".
std::string part_of_rank(const std::string& path, int rank, int ranks) {
  std::vector<std::string> parts;
  if (rank == 0) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line == "rank") parts.emplace_back();
      else if (!parts.empty()) parts.back() += line + "\n";
    }
  }
  auto count = static_cast<int>(parts.size());
  PMPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (count != ranks) refuse(rank, "asked for " + std::to_string(count) + " ranks, the job has " + std::to_string(ranks) + ": this launcher belongs to another MPI");
  if (rank == 0) {
    for (int other = 1; other < ranks; ++other) PMPI_Send(parts[other].data(), static_cast<int>(parts[other].size()), MPI_CHAR, other, 0, MPI_COMM_WORLD);
    return parts[0];
  }
  MPI_Status status;
  int size = 0;
  PMPI_Probe(0, 0, MPI_COMM_WORLD, &status);
  PMPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), ' ');
  PMPI_Recv(text.data(), size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

std::string numbers(const double* values, std::size_t count) {
  std::string json;
  for (std::size_t one = 0; one < count; ++one) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.9g", one == 0 ? "" : ",", values[one]);
    json += text;
  }
  return "[" + json + "]";
}

std::string numbers(const std::array<std::uint64_t, kNames>& counts) {
  std::array<double, kNames> values{};
  std::copy(counts.begin(), counts.end(), values.begin());
  return numbers(values.data(), kNames);
}

// The numbers are means over the ranks, except for the wall time, which is the longest.
std::string turn_json(const Taken& taken, int ranks) {
  std::array<double, kNames> inside = taken.inside;
  PMPI_Allreduce(MPI_IN_PLACE, inside.data(), static_cast<int>(kNames), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (double& one : inside) one /= ranks;
  const double wall = slowest(taken.wall);
  return "{\"inside\":" + numbers(inside.data(), kNames) + ",\"wall\":" + numbers(&wall, 1) + "}";
}

std::uint64_t sum(std::uint64_t number) {
  PMPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return number;
}

struct Checked {
  std::uint64_t calls = 0, different = 0, failed = 0;
  Judged judged;
};

// Both make the same calls with the same data, which also warms them up.
Checked check(const Program& program, const Data& data, Player& native, Player& carried, std::uint64_t most_calls) {
  const How how{false, true, most_calls};
  const std::uint64_t failed = native.play(how).failed + carried.play(how).failed;
  const auto &one = native.results(), &other = carried.results();
  std::uint64_t different = one.size() != other.size();
  for (std::size_t at = 0; at < std::min(one.size(), other.size()); ++at) different += !(one[at] == other[at]);
  Judged judged = compare_with_definition(program, data, native, carried);
  for (auto* wrong : {&judged.native_wrong, &judged.carried_wrong}) {
    for (std::uint64_t& calls : *wrong) calls = sum(calls);
  }
  judged.calls = sum(judged.calls);
  return {sum(one.size()), sum(different), sum(failed), judged};
}

struct Turns {
  std::string native, carried;
  std::array<double, kNames> calls{};
  int done = 0;
};

Turns take_turns(Player& native, Player& carried, const ReplayOptions& options, int ranks) {
  Turns turns;
  const double began = now();
  const How how{options.gaps};
  for (; turns.done < options.turns; ++turns.done) {
    const double spent = slowest(now() - began);
    if (turns.done > 0 && spent * (turns.done + 1) / turns.done > options.most_seconds) break;
    const bool native_first = turns.done % 2 == 0;
    Taken taken[2];
    for (const bool by_native : {native_first, !native_first}) taken[by_native] = (by_native ? native : carried).play(how);
    turns.native += (turns.done == 0 ? "" : ",") + turn_json(taken[1], ranks);
    turns.carried += (turns.done == 0 ? "" : ",") + turn_json(taken[0], ranks);
    turns.calls = taken[1].calls;
  }
  PMPI_Allreduce(MPI_IN_PLACE, turns.calls.data(), static_cast<int>(kNames), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return turns;
}

std::string names_json() {
  std::string json;
  for (const char* kind : kKindNames) {
    for (const std::string& name : {std::string(kind), "i" + std::string(kind), std::string(kind) + "_init"}) json += (json.empty() ? "\"" : ",\"") + name + "\"";
  }
  return "[" + json + "]";
}

int run(const ReplayOptions& options) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto set = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  if (set == nullptr) refuse(rank, "crossrail is not preloaded");
  // Calls under such names must go to the MPI library.
  if (set("CROSSRAIL_PMPI", "0") != 0) refuse(rank, "crossrail refuses CROSSRAIL_PMPI=0: native calls could not be told from its own");
  std::istringstream text(part_of_rank(options.program, rank, ranks));
  Program program;
  if (sum(!read(text, program)) != 0) refuse(rank, "the recorded calls cannot be read");
  const Data data(program);
  Player native(program, data, true), carried(program, data, false);
  const Checked checked = check(program, data, native, carried, options.check_calls);
  const Turns turns = take_turns(native, carried, options, ranks);
  if (rank == 0) {
    std::ofstream output(options.output);
    output << "{\"ranks\":" << ranks << ",\"gaps\":" << (options.gaps ? "true" : "false") << ",\"checked_calls\":" << checked.calls
           << ",\"different\":" << checked.different << ",\"failed\":" << checked.failed
           << ",\"defined_calls\":" << checked.judged.calls << ",\"native_wrong\":" << numbers(checked.judged.native_wrong)
           << ",\"crossrail_wrong\":" << numbers(checked.judged.carried_wrong) << ",\"names\":" << names_json()
           << ",\"calls\":" << numbers(turns.calls.data(), kNames) << ",\"native\":[" << turns.native << "],\"crossrail\":[" << turns.carried << "]}\n";
  }
  return checked.different + checked.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench::replay

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = bench::replay::run(bench::replay::read_words(argc, argv));
  MPI_Finalize();
  return code;
}
