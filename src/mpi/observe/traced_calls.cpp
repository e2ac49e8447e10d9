#include "mpi/observe/traced_calls.h"

#include <cstring>
#include <filesystem>
#include <string>

#include "base/settings.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/library/arguments.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/significant_sides.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

// The folder is resolved when the library is loaded, because the program may change its working directory later.
const std::string& folder() {
  static const std::string& its = *new std::string([] {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(process_settings().trace, failed);
    return failed ? process_settings().trace : absolute.string();
  }());
  return its;
}

struct LooksAtLoad {
  LooksAtLoad() {
    if (tracing()) (void)folder();
  }
} looks_at_load;

// The trace is opened at the first MPI call, so that a process without any, such as a shell between launcher and program, leaves no file.
void open_trace() {
  trace::open(folder(), process_settings().trace_events);
  if (find_functions() != nullptr) ask_world();
  trace::set_world(known_world().rank, known_world().size);
}

std::uint64_t bytes_of(const ObservedCall& call, int count_word, int type_word) {
  const auto elements = count_from(call.words[count_word], call.entry.large_counts);
  return elements <= 0 ? 0 : static_cast<std::uint64_t>(elements) * size_of(handle_from<MPI_Datatype>(call.words[type_word]));
}

// Returns the bytes of a side that has a count for each rank and whose arguments begin at word `side`.
std::uint64_t bytes_of_blocks(const ObservedCall& call, int side, int ranks) {
  const MpiFunction& function = call.entry.function;
  const Numbers counts(call.words[function.place('N', side)], call.entry.large_counts);
  const bool many = function.has('T');
  const Word64 type = call.words[function.place(many ? 'T' : 't', side)];
  const auto* const types = reinterpret_cast<const MPI_Datatype*>(type);
  std::uint64_t bytes = 0, element = many ? 0 : size_of(handle_from<MPI_Datatype>(type));
  MPI_Datatype last{};
  for (int peer = 0; peer < ranks; ++peer) {
    if (counts[peer] <= 0) continue;
    if (many && (bytes == 0 || types[peer] != last)) element = size_of(last = types[peer]);
    bytes += static_cast<std::uint64_t>(counts[peer]) * element;
  }
  return bytes;
}

// Returns the bytes of the only block that a rank gives in place, the one with its own number.
std::uint64_t bytes_of_own_block(const ObservedCall& call, MPI_Comm comm) {
  const MpiFunction& function = call.entry.function;
  const Numbers counts(call.words[function.place('N')], call.entry.large_counts);
  int rank = 0;
  if (pmpi().Comm_rank(comm, &rank) != MPI_SUCCESS) return 0;
  return static_cast<std::uint64_t>(counts[rank]) * size_of(handle_from<MPI_Datatype>(call.words[function.place('t', function.place('N'))]));
}

// Returns what this rank gives in a rooted call.
std::uint64_t bytes_sent_of_rooted(const ObservedCall& call, int ranks, MPI_Comm comm) {
  const MpiFunction& function = call.entry.function;
  if (!significant_sides(function, call.words).sent) return 0;
  const bool many = function.has('N');
  if (root_sends(function.collective)) return many ? bytes_of_blocks(call, 0, ranks) : bytes_of(call, function.place('n'), function.place('t')) * static_cast<std::uint64_t>(ranks);
  if (call.words[0] != word_of(MPI_IN_PLACE)) return bytes_of(call, function.place('n'), function.place('t'));
  return many ? bytes_of_own_block(call, comm) : bytes_of(call, function.place('n', function.receive_word), function.place('t', function.receive_word));
}

// Returns what this rank gives. The call has succeeded, so its arguments make sense.
TracedSizes sizes_of(const ObservedCall& call) {
  const MpiFunction& function = call.entry.function;
  const MPI_Comm comm = handle_from<MPI_Comm>(call.entry.comm(call.words));
  TracedSizes sizes;
  int inter = 0;
  if (pmpi().Comm_test_inter(comm, &inter) != MPI_SUCCESS || pmpi().Comm_size(comm, &sizes.ranks) != MPI_SUCCESS || inter != 0) return sizes;
  if (function.root_word >= 0) {
    sizes.bytes = bytes_sent_of_rooted(call, sizes.ranks, comm);
    return sizes;
  }
  const int side = call.words[0] == word_of(MPI_IN_PLACE) ? function.place('r') : 0;
  const auto ranks = static_cast<std::uint64_t>(sizes.ranks);
  const bool to_every_rank = function.collective == Collective::alltoall || function.collective == Collective::reduce_scatter_block;
  const bool gives_one = function.has('n');
  if (!gives_one) sizes.bytes = bytes_of_blocks(call, side, sizes.ranks);
  else if (side != 0 && function.has('N')) sizes.bytes = bytes_of_own_block(call, comm);
  else sizes.bytes = bytes_of(call, function.place('n', side), function.place('t', side)) * (to_every_rank ? ranks : 1);
  return sizes;
}

}  // namespace

bool tracing() {
  static const bool on = !process_settings().trace.empty();
  return on;
}

trace::Number trace_function(const char* name) {
  if (!tracing()) return 0;
  if (!trace::on()) open_trace();
  return trace::begin({name, trace::Kind::call});
}

void trace_function(const char* name, std::int64_t began_ns) {
  if (!tracing()) return;
  if (!trace::on()) open_trace();
  trace::end(trace::begin({.name = name, .kind = trace::Kind::call, .began_ns = began_ns}));
}

void TraceObserver::begins(ObservedCall& call) { call.traced = trace_function(call.entry.counter.name()); }

void TraceObserver::ended(ObservedCall& call, const CallResult& result) {
  if (call.traced == 0) return;
  if (result.code == MPI_SUCCESS && call.words != nullptr && find_functions() != nullptr) call.sizes = sizes_of(call);
  const bool native = !result.done || result.on_copies;
  // What handles a pending call is not known yet; the event of its end says so.
  const bool known = native || std::strcmp(result.algorithm, "native") != 0;
  trace::tell(call.traced, {native ? "native" : known ? result.algorithm : nullptr, native ? result.native_because : nullptr, call.sizes.bytes, call.sizes.ranks});
  trace::end(call.traced);
}

trace::Number trace_pending(const char* name, const TracedSizes& sizes, std::int64_t began_ns) {
  if (!trace::on()) return 0;
  const trace::Number event = trace::begin({.name = name, .kind = trace::Kind::pending, .bytes = sizes.bytes, .began_ns = began_ns});
  tell_sizes(event, sizes);
  return event;
}

void tell_sizes(trace::Number event, const TracedSizes& sizes) { trace::tell(event, {nullptr, nullptr, sizes.bytes, sizes.ranks}); }

}  // namespace crossrail::mpi
