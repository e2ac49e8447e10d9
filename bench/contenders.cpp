#include "contenders.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "peer.h"

namespace bench {
namespace {

std::string last_algorithm() {
  using Last = const char* (*)();
  const auto last = reinterpret_cast<Last>(dlsym(RTLD_DEFAULT, "crossrail_last_algorithm"));
  return last == nullptr ? "native" : last();
}

// Returns the collective whose algorithms handle the calls.
const char* carried_as(const Collective& collective) { return collective.carried_as != nullptr ? collective.carried_as : collective.name; }

// Returns CROSSRAIL_ALLTOALLV for alltoallv, in every form.
std::string variable_of(const std::string& collective) {
  std::string variable = "CROSSRAIL_";
  for (const char letter : collective) variable += static_cast<char>(std::toupper(letter));
  return variable;
}

// Returns what crossrail is told to do for a contender; if empty, it chooses itself.
std::string wanted_of(const Bench& bench, const std::string& contender) {
  const char* same_as = bench.collective.same_as;
  if (contender == "auto" || (same_as != nullptr && contender == same_as)) return "";
  return contender == "passed" ? "native" : contender;
}

// crossrail_set, in the preloaded library, sets the algorithm for communicators
// whose first call comes next. It is null if crossrail is not preloaded.
using Set = int (*)(const char* variable, const char* value);

// Returns false if crossrail knows no such algorithm or parameter.
bool tell_crossrail(const Bench& bench, Set set, const std::string& contender) {
  if (bench.collective.same_as != nullptr) set(variable_of(bench.collective.same_as).c_str(), "");
  return set(variable_of(carried_as(bench.collective)).c_str(), wanted_of(bench, contender).c_str()) == 0;
}

// It has one rank, and crossrail leaves MPI_Alltoall on it to MPI.
MPI_Comm always_native = MPI_COMM_NULL;

void make_forgetting(Set set) {
  MPI_Comm_dup(MPI_COMM_SELF, &always_native);
  set("CROSSRAIL_ALLTOALL", "native");
  forget_last_algorithm();
  set("CROSSRAIL_ALLTOALL", "");
}

bool everywhere(bool mine, const Bench& bench) { return first_without(mine, bench) == bench.ranks; }

// Makes the first calls, equally many for every contender. In them MPI connects ranks, and crossrail and peers look at a communicator; crossrail does
// so at the ninth MPI_Allreduce. Returns false if a peer cannot work.
bool first_call_works(const Bench& bench, const Contender& contender) {
  Size size = make_size(bench, bench.options.datatype == kContiguous ? bench.options.unit : kBlockUnit, 0);
  Buffers& buffers = buffers_of(bench, contender, size);
  if (!everywhere(buffers.complete(), bench)) return false;
  Calls calls(bench.collective, bench.options, contender, size.exchange, buffers);
  constexpr int kMoreCalls = 8;
  if (!everywhere(calls.run(0) == MPI_SUCCESS, bench)) return false;
  for (int more = 0; more < kMoreCalls; ++more) calls.run(0);
  // crossrail opens a communicator in a blocking collective call and leaves
  // earlier nonblocking calls to MPI. It does not open the one of native calls.
  return contender.native() || MPI_Barrier(contender.comm) == MPI_SUCCESS;
}

// Makes the communicator and the first call of a contender. Returns false if crossrail knows no such algorithm.
bool admit(Bench& bench, Set set, Contender contender) {
  MPI_Comm_dup(MPI_COMM_WORLD, &contender.comm);
  if (contender.crossrails() && !everywhere(tell_crossrail(bench, set, contender.name), bench)) {
    if (bench.rank == 0) std::fprintf(stderr, "bench: %s has no algorithm '%s'\n", carried_as(bench.collective), contender.name.c_str());
    return false;
  }
  if (first_call_works(bench, contender)) {
    bench.contenders.push_back(std::move(contender));
    return true;
  }
  // The communicator stays, because the peer may know it by its handle, which another communicator would get.
  if (bench.rank == 0) std::fprintf(stderr, "bench: '%s' does not work here and is left out\n", contender.name.c_str());
  return true;
}

}  // namespace

// Like all calls of the harness, it uses a name that is left to MPI, because the last algorithm must be the contender's.
int first_without(bool mine, const Bench& bench) {
  int first = mine ? bench.ranks : bench.rank;
  PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return first;
}

namespace {

// Returns whether the MPI library says that it accepts device pointers (Open MPI's extension; other libraries have none).
bool mpi_takes_device_memory() {
  const auto ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return ask != nullptr && ask() != 0;
}

// Otherwise the MPI library would read device memory as if it were the host's.
bool native_can_run(const Bench& bench) {
  const auto& names = bench.options.contenders;
  const bool wanted = std::find(names.begin(), names.end(), "native") != names.end();
  if (!wanted || bench.options.memory == Memory::host || mpi_takes_device_memory()) return true;
  if (bench.rank == 0) std::fprintf(stderr, "bench: this MPI library cannot read device memory: 'passed', which calls it on copies in host memory, replaces 'native'\n");
  return false;
}

}  // namespace

bool make_contenders(Bench& bench) {
  if (!native_can_run(bench)) return false;
  const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  // Calls under PMPI_ names go to MPI, and each contender handles all of its own calls.
  for (const char* variable : {"CROSSRAIL_PMPI", "CROSSRAIL_GUARD", "CROSSRAIL_OPEN_AFTER"}) {
    if (set == nullptr || set(variable, "0") == 0) continue;
    if (bench.rank == 0) std::fprintf(stderr, "bench: crossrail refuses %s=0: native calls could not be told from its own\n", variable);
    return false;
  }
  std::vector<Contender> all;
  for (const std::string& name : bench.options.contenders) {
    all.push_back({name, MPI_COMM_NULL, {}});
    if (all.back().native() || set != nullptr) continue;
    if (bench.rank == 0) std::fprintf(stderr, "bench: crossrail is not preloaded: only 'native' and peers can run\n");
    return false;
  }
  for (const Peer& peer : bench.options.peers) {
    all.push_back({peer.name, MPI_COMM_NULL, load_peer(peer)});
    if (!all.back().is_peer()) return false;
  }
  if (set != nullptr) make_forgetting(set);
  for (const Contender& contender : all) {
    if (!admit(bench, set, contender)) return false;
  }
  return !bench.contenders.empty();
}

void forget_last_algorithm() {
  if (always_native == MPI_COMM_NULL) return;
  char sent = 0, received = 0;
  MPI_Alltoall(&sent, 1, MPI_CHAR, &received, 1, MPI_CHAR, always_native);
}

void free_contenders(Bench& bench) {
  for (Contender& contender : bench.contenders) MPI_Comm_free(&contender.comm);
  if (always_native != MPI_COMM_NULL) MPI_Comm_free(&always_native);
}

std::string algorithm_of(const Contender& contender) {
  if (contender.native()) return "native";
  if (!contender.is_peer()) return last_algorithm();
  return contender.peer.version == nullptr ? "peer" : contender.peer.version();
}

bool is_wanted(const Bench& bench, const Contender& contender, const std::string& algorithm) {
  const std::string wanted = contender.crossrails() ? wanted_of(bench, contender.name) : "";
  return wanted.empty() || wanted.substr(0, wanted.find(' ')) == algorithm;
}

}  // namespace bench
