// crossrail_simulate reads a job from its standard input, a line for each KEY VALUE (docs/simulation.md), and writes a line of JSON for every result.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>

#include "base/json.h"
#include "base/setting_check.h"
#include "base/small_file.h"
#include "selection/selection.h"
#include "simulated_world/simulation.h"

namespace crossrail::simulated_world {
namespace {

constexpr long kMostRanks = 16384;

struct Input {
  Job job;
  long nodes = 0, ranks_per_node = 0;
  std::string placement = "blocks";
  std::string wrong;  // It is a sentence about what is wrong.
};

bool parse_number(const std::string& text, double& number) {
  char* end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

// Takes a whole number of at least `least`.
template <class Number>
void take_number(Input& input, const std::string& key, const std::string& text, Number& to, double least) {
  double number = 0;
  if (!parse_number(text, number) || number < least || number != static_cast<double>(static_cast<long>(number))) {
    input.wrong = key + " '" + text + "' is no whole number of at least " + std::to_string(static_cast<long>(least));
    return;
  }
  to = static_cast<Number>(number);
}

void take_collective(Input& input, const std::string& name) {
  for (const Collective one : {Collective::alltoall, Collective::alltoallv, Collective::allreduce, Collective::allgather, Collective::reduce_scatter_block}) {
    if (name != name_of(one)) continue;
    input.job.collective = one;
    return;
  }
  input.wrong = "the collective '" + name + "' cannot be simulated";
}

void take_setting(Input& input, const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool known = equals != std::string::npos && assign_setting(input.job.settings, text.substr(0, equals), text.substr(equals + 1));
  if (!known) input.wrong = "the setting '" + text + "' is unknown, or its value makes no sense";
}

void take_tuning(Input& input, const std::string& path) {
  const SmallFile file = read_small_file(path, kMostTableBytes);
  if (!file.problem.empty()) {
    input.wrong = path + " " + file.problem;
    return;
  }
  const Status read = read_tuning(file.text, path, input.job.tuning);
  if (!read.ok()) input.wrong = read.what;
}

void take_late(Input& input, const std::string& text) {
  std::istringstream words(text);
  double microseconds = 0;
  if (!(words >> input.job.late_rank >> microseconds) || input.job.late_rank < 0 || microseconds < 0) input.wrong = "late '" + text + "' is no rank and time";
  input.job.late = Machine::time(microseconds * 1000);
}

// Takes "NAME UP_TO ALGORITHM", where UP_TO may be '*'. Lines of one name, one after the other, are one contender.
void take_choice(Input& input, const std::string& text) {
  std::istringstream words(text);
  std::string name, up_to, algorithm;
  double most = 0;
  words >> name >> up_to >> std::ws;
  std::getline(words, algorithm);
  if (algorithm.empty() || (up_to != "*" && (!parse_number(up_to, most) || most < 0))) {
    input.wrong = "choice '" + text + "' is no name, size and algorithm";
    return;
  }
  std::vector<Contender>& contenders = input.job.contenders;
  if (contenders.empty() || contenders.back().name != name) contenders.push_back({name, {}});
  contenders.back().choices.push_back({up_to == "*" ? SIZE_MAX : static_cast<std::size_t>(most), algorithm});
}

void take(Input& input, const std::string& key, const std::string& value) {
  constexpr std::string_view kMachine = "machine.";
  double number = 0;
  if (key == "nodes") return take_number(input, key, value, input.nodes, 1);
  if (key == "ranks_per_node") return take_number(input, key, value, input.ranks_per_node, 1);
  if (key == "calls") return take_number(input, key, value, input.job.calls, 1);
  if (key == "check_up_to") return take_number(input, key, value, input.job.check_up_to, 0);
  if (key == "bytes") return take_number(input, key, value, input.job.sizes.emplace_back(), 1);
  if (key == "collective") return take_collective(input, value);
  if (key == "setting") return take_setting(input, value);
  if (key == "tuning") return take_tuning(input, value);
  if (key == "late") return take_late(input, value);
  if (key == "choice") return take_choice(input, value);
  if (key == "algorithm") {
    input.job.contenders.push_back({value, {{SIZE_MAX, value}}});
  } else if (key == "placement") {
    input.placement = value;
  } else if (!key.starts_with(kMachine)) {
    input.wrong = "the key '" + key + "' is unknown";
  } else if (!parse_number(value, number) || !input.job.machine.take(key.substr(kMachine.size()), number)) {
    input.wrong = "'" + key + " " + value + "' is no value of a machine";
  }
}

// Sets the node of every rank.
void place(Input& input) {
  std::istringstream words(input.placement);
  std::string how;
  unsigned seed = 0;
  words >> how;
  std::vector<int>& node_of = input.job.node_of;
  for (long rank = 0; rank < input.nodes * input.ranks_per_node; ++rank) {
    node_of.push_back(static_cast<int>(how == "cyclic" ? rank % input.nodes : rank / input.ranks_per_node));
  }
  if (how == "random" && words >> seed) {
    std::mt19937 random(seed);
    for (std::size_t left = node_of.size(); left > 1; --left) std::swap(node_of[left - 1], node_of[random() % left]);
  } else if (how != "blocks" && how != "cyclic") {
    input.wrong = "the placement '" + input.placement + "' is none of blocks, cyclic and random SEED";
  }
}

std::vector<std::string> algorithms_of(const Job& job) {
  std::vector<std::string> algorithms;
  for (const Contender& contender : job.contenders) {
    for (const Contender::Choice& choice : contender.choices) algorithms.push_back(choice.algorithm);
  }
  return algorithms;
}

void check(Input& input) {
  const Job& job = input.job;
  if (!input.wrong.empty()) return;
  if (input.nodes == 0 || input.ranks_per_node == 0 || job.contenders.empty() || job.sizes.empty()) {
    input.wrong = "nodes, ranks_per_node, algorithm and bytes are needed";
  } else if (input.nodes * input.ranks_per_node > kMostRanks) {
    input.wrong = "more than " + std::to_string(kMostRanks) + " ranks cannot be simulated";
  } else if (job.late_rank >= input.nodes * input.ranks_per_node) {
    input.wrong = "the late rank does not exist";
  } else {
    input.wrong = job.machine.wrong();
  }
  for (const std::string& algorithm : algorithms_of(job)) {
    const std::string name = algorithm.substr(0, algorithm.find(' '));
    if (name != "auto" && find_algorithm(job.collective, name) == nullptr) input.wrong = "there is no algorithm '" + name + "' of " + name_of(job.collective);
  }
  const auto is_odd = [](std::size_t bytes) { return bytes % sizeof(std::int32_t) != 0; };
  if (input.wrong.empty() && row_of(job.collective).reduces && std::any_of(job.sizes.begin(), job.sizes.end(), is_odd)) input.wrong = "the elements have 4 bytes, so sizes must be multiples of that";
}

Input read_input() {
  Input input;
  input.job.settings.slots = 0;
  input.job.settings.devices = 0;
  input.job.settings.guard_calls = 0;
  for (std::string line; input.wrong.empty() && std::getline(std::cin, line);) {
    const std::size_t blank = line.find(' ');
    if (!line.empty()) take(input, line.substr(0, blank), blank == std::string::npos ? "" : line.substr(blank + 1));
  }
  check(input);
  if (input.wrong.empty()) place(input);
  return input;
}

void print(const Cell& cell) {
  std::printf("{\"algorithm\": %s, \"bytes\": %zu, ", json_text(cell.algorithm).c_str(), cell.bytes);
  if (!cell.error.empty()) {
    std::printf("\"error\": %s, \"wall_s\": %.3f}\n", json_text(cell.error).c_str(), cell.wall_s);
    return;
  }
  std::printf("\"chosen\": %s, \"time_us\": %.3f, \"first_us\": %.3f, \"checked\": %s, \"wrong\": %llu, ", json_text(cell.chosen).c_str(), cell.time_us, cell.first_us,
              cell.checked ? "true" : "false", static_cast<unsigned long long>(cell.wrong));
  const auto number = [](const char* key, std::uint64_t value) { std::printf("\"%s\": %llu, ", key, static_cast<unsigned long long>(value)); };
  number("sends", cell.traffic.sends);
  number("queue_pairs", cell.queue_pairs);
  number("sent_bytes", cell.traffic.sent_bytes);
  number("staged_bytes", cell.traffic.staged_bytes);
  number("node_bytes", cell.node_bytes);
  number("missed", cell.missed);
  number("messages", cell.messages);
  number("rank_bytes", cell.rank_bytes);
  std::printf("\"wall_s\": %.3f}\n", cell.wall_s);
}

int run() {
  const Input input = read_input();
  if (!input.wrong.empty()) {
    std::fprintf(stderr, "crossrail_simulate: %s\n", input.wrong.c_str());
    return 2;
  }
  std::size_t done = 0;
  const std::size_t all = input.job.contenders.size() * input.job.sizes.size();
  const bool right = simulate(input.job, [&](const Cell& cell) {
    print(cell);
    std::printf("{\"progress\": %.4f}\n", static_cast<double>(++done) / static_cast<double>(all));
    std::fflush(stdout);
  });
  if (!right) std::fprintf(stderr, "crossrail_simulate: some data were wrong\n");
  return right ? 0 : 1;
}

}  // namespace
}  // namespace crossrail::simulated_world

int main() { return crossrail::simulated_world::run(); }
