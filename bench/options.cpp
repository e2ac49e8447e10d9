#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "harness.h"

namespace bench {
namespace {

std::vector<std::string> names_of(const char* text) {
  std::vector<std::string> names;
  std::stringstream all(text);
  for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return names;
}

// Parses NAME=LIBRARY:SYMBOL. A part that is missing is empty.
Peer peer_of(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon < equals) return {text.substr(0, equals), "", ""};
  return {text.substr(0, equals), text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1)};
}

Memory memory_of(const std::string& word) {
  if (word == "cuda") return Memory::cuda;
  if (word != "host") {
    std::fprintf(stderr, "bench: --memory is host or cuda, not '%s'\n", word.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return Memory::host;
}

bool takes_half_steps(const std::string& word) {
  if (word != "2" && word != "sqrt2") {
    std::fprintf(stderr, "bench: --step is 2 or sqrt2, not '%s'\n", word.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return word == "sqrt2";
}

Counts counts_of(const std::string& word) {
  if (word != "equal" && word != "zipf") {
    std::fprintf(stderr, "bench: --counts is equal or zipf, not '%s'\n", word.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return word == "zipf" ? Counts::zipf : Counts::equal;
}

Form form_of(const std::string& word) {
  if (word == "blocking") return Form::blocking;
  if (word == "nonblocking") return Form::nonblocking;
  if (word != "persistent") {
    std::fprintf(stderr, "bench: --form is blocking, nonblocking or persistent, not '%s'\n", word.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return Form::persistent;
}

struct Flags {
  int in_place = 0, off_cache = 0, fresh = 0, slices = 0, beside = 0;
};

std::vector<option> known_options(Flags& flags) {
  return {{"min-bytes", 1, nullptr, 'm'},  {"max-bytes", 1, nullptr, 'M'},
          {"algorithms", 1, nullptr, 'a'}, {"repetitions", 1, nullptr, 'r'},
          {"seconds", 1, nullptr, 's'},    {"max-time", 1, nullptr, 't'},
          {"buffers", 1, nullptr, 'b'},    {"empty-percent", 1, nullptr, 'e'},
          {"output", 1, nullptr, 'o'},     {"peer", 1, nullptr, 'p'},
          {"memory", 1, nullptr, 'k'},     {"step", 1, nullptr, 'S'},
          {"form", 1, nullptr, 'f'},       {"tests", 1, nullptr, 'T'},
          {"ranks", 1, nullptr, 'n'},      {"datatype", 1, nullptr, 'd'},
          {"in-place", 0, &flags.in_place, 1},   {"off-cache", 0, &flags.off_cache, 1},
          {"counts", 1, nullptr, 'c'},     {"fresh", 0, &flags.fresh, 1},
          {"processes", 1, nullptr, 'P'},  {"slices", 0, &flags.slices, 1},
          {"beside", 0, &flags.beside, 1},
          {nullptr, 0, nullptr, 0}};
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  bool named = false;
  Flags flags;
  const std::vector<option> longs = known_options(flags);
  for (int got; (got = getopt_long(argc, argv, "", longs.data(), nullptr)) != -1;) {
    switch (got) {
      case 'm': options.min_bytes = std::strtoull(optarg, nullptr, 10); break;
      case 'M': options.max_bytes = std::strtoull(optarg, nullptr, 10); break;
      case 'r': options.repetitions = std::atoi(optarg); break;
      case 's': options.seconds_a_size = std::atof(optarg); break;
      case 't': options.most_seconds = std::atof(optarg); break;
      case 'e': options.empty_percent = std::clamp(std::atoi(optarg), 0, 100); break;
      case 'b': options.buffers = std::max(1, std::atoi(optarg)); break;
      case 'o': options.output = optarg; break;
      case 'p': options.peers.push_back(peer_of(optarg)); break;
      case 'a': options.contenders = names_of(optarg), named = true; break;
      case 'k': options.memory = memory_of(optarg); break;
      case 'S': options.half_steps = takes_half_steps(optarg); break;
      case 'n': options.ranks = std::atoi(optarg); break;
      case 'd': options.datatype = shortest(optarg); break;
      case 'c': options.counts = counts_of(optarg); break;
      case 'f': options.form = form_of(optarg); break;
      case 'P': options.processes = std::atoi(optarg); break;
      case 'T': options.tests = std::max(0, std::atoi(optarg)); break;
      case 0: break;  // It is a flag.
      default: MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  options.in_place = flags.in_place != 0, options.off_cache = flags.off_cache != 0, options.fresh = flags.fresh != 0;
  options.slices = flags.slices != 0, options.beside = flags.beside != 0;
  if (!named) options.contenders = names_of(options.memory == Memory::host ? "native,auto" : "auto");
  return options;
}

namespace {

// Every block is a multiple of it.
std::size_t unit_of(const Options& options) { return options.datatype != kContiguous ? kBlockUnit : options.half_steps ? 16 : options.unit; }

}  // namespace

std::vector<std::size_t> blocks_of(const Options& options) {
  const std::size_t multiple = unit_of(options);
  const std::size_t first = std::max<std::size_t>(options.half_steps || options.unit > 1 ? multiple : 1, options.min_bytes);
  std::vector<std::size_t> blocks;
  for (int step = 0;; ++step) {
    const int doubled = options.half_steps ? step / 2 : step;
    if (first > options.max_bytes >> doubled) return blocks;  // It returns before the number overflows.
    std::size_t block = first << doubled;
    if (options.half_steps) {
      const double exact = static_cast<double>(block) * (step % 2 == 0 ? 1.0 : std::sqrt(2.0));
      block = static_cast<std::size_t>(std::llround(exact / static_cast<double>(multiple))) * multiple;
    }
    if (block > options.max_bytes) return blocks;
    const bool whole = block % multiple == 0;
    if (whole && (blocks.empty() || block > blocks.back())) blocks.push_back(block);
  }
}

namespace {

std::string complaint_about_datatype(const Options& options) {
  const auto [sender, receiver] = sides_of(options.datatype);
  for (const std::string& name : {sender, receiver}) {
    if (find_datatype(name) != nullptr) continue;
    return "--datatype is contiguous, vector, indexed, resized or subarray, or two of them as SENDER:RECEIVER, not '" + options.datatype + "'";
  }
  return options.datatype != kContiguous && !options.peers.empty() ? "--peer is measured on contiguous data only" : "";
}

// It is the need of one rank.
double need_at_least(const Options& options) {
  constexpr double kSides = 2, kOfAnAllocation = 64;
  return kSides * static_cast<double>(options.buffers) * (static_cast<double>(options.max_bytes) + kOfAnAllocation);
}
double memory_of_machine() { return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)); }

std::string complaint_about_buffers(const Options& options) {
  const bool derived = options.datatype != kContiguous;
  const bool equal = options.empty_percent == 0 && options.counts == Counts::equal;
  if (options.in_place && (derived || options.memory != Memory::host || !equal || !options.peers.empty())) {
    return "--in-place is measured on contiguous data in host memory, with blocks of equal length and without --peer";
  }
  if (options.fresh && (options.form != Form::blocking || options.memory == Memory::host || options.buffers > 1)) {
    return "--fresh is measured with blocking calls in device memory, without --buffers";
  }
  if (options.buffers > 1 && options.memory == Memory::host && need_at_least(options) > memory_of_machine()) {
    return std::to_string(options.buffers) + " sets of buffers for blocks of " + std::to_string(options.max_bytes) + " bytes are more than this machine's memory";
  }
  if (options.slices && (options.fresh || options.buffers > 1)) return "--slices is measured without --buffers and --fresh";
  if (options.beside && (options.memory == Memory::host || options.fresh)) return "--beside is measured in device memory, without --fresh";
  if (options.off_cache && (options.form != Form::blocking || options.memory != Memory::host || !options.peers.empty())) {
    return "--off-cache is measured with blocking calls in host memory, without --peer";
  }
  return "";
}

}  // namespace

std::string complaint(const Options& options) {
  if (const std::string about = complaint_about_buffers(options); !about.empty()) return about;
  if (const std::string about = complaint_about_datatype(options); !about.empty()) return about;
  if (blocks_of(options).empty()) {
    const char* const needing = options.datatype != kContiguous ? "--datatype" : options.half_steps ? "--step sqrt2" : "complex numbers";
    return "there is no size from " + std::to_string(options.min_bytes) + " to " + std::to_string(options.max_bytes) + " bytes" +
           (unit_of(options) > 1 ? " that is a multiple of " + std::to_string(unit_of(options)) + ", for " + needing : "");
  }
  if (options.form != Form::blocking && !options.peers.empty()) return "--peer is measured with blocking calls only";
  if (options.form == Form::blocking && options.tests > 0) return "--tests is for nonblocking and persistent calls: a blocking one has nothing to test";
  std::vector<std::string> names = options.contenders;
  names.push_back("native");
  for (const Peer& peer : options.peers) {
    if (peer.name.empty() || peer.library.empty() || peer.symbol.empty()) return "--peer '" + peer.name + "' is not NAME=LIBRARY:SYMBOL";
    if (std::find(names.begin(), names.end(), peer.name) != names.end()) return "two contenders have the name '" + peer.name + "'";
    names.push_back(peer.name);
  }
  return "";
}

}  // namespace bench
