#include "mpi/tracing/traced_calls.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/settings.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/interpose/arguments.h"
#include "mpi/library/pmpi.h"
#include "mpi/recording/recorder.h"
#include "mpi/statistics/counters.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostWords = 9;
constexpr std::size_t kWords[] = {7, 9, 9, 6, 7, 6};  // by kind
constexpr std::size_t kCommWord[] = {6, 8, 8, 5, 6, 5};

struct Noted {
  bool is = false;
  RecordedKind kind{};
  bool large_counts = false;
  Word64 words[kMostWords] = {};
};
thread_local Noted noted;

// As it was when the library was loaded: the program may go to another folder.
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

// A process that makes no MPI calls, as a shell between launcher and program, leaves nothing.
void open_trace() {
  trace::open(folder(), process_settings().trace_events);
  if (find_functions() != nullptr) ask_world();
  trace::set_world(known_world().rank, known_world().size);
}

std::uint64_t bytes_of(Word64 count, Word64 type) {
  const auto elements = count_from(count, noted.large_counts);
  return elements <= 0 ? 0 : static_cast<std::uint64_t>(elements) * size_of(handle_from<MPI_Datatype>(type));
}

// Of MPI_Alltoallv and MPI_Alltoallw: counts, displacements and type or types begin at this word.
std::uint64_t bytes_of_blocks(int side, int ranks) {
  const Numbers counts(noted.words[side], noted.large_counts);
  const bool many = noted.kind == RecordedKind::alltoallw;
  const auto* const types = reinterpret_cast<const MPI_Datatype*>(noted.words[side + 2]);
  std::uint64_t bytes = 0, element = many ? 0 : size_of(handle_from<MPI_Datatype>(noted.words[side + 2]));
  MPI_Datatype last{};
  for (int peer = 0; peer < ranks; ++peer) {
    if (counts[peer] <= 0) continue;
    if (many && (bytes == 0 || types[peer] != last)) element = size_of(last = types[peer]);
    bytes += static_cast<std::uint64_t>(counts[peer]) * element;
  }
  return bytes;
}

// Of the call that has succeeded, whose arguments therefore make sense.
TracedSizes sizes_of_noted() {
  const Word64* const words = noted.words;
  const MPI_Comm comm = handle_from<MPI_Comm>(words[kCommWord[static_cast<int>(noted.kind)]]);
  TracedSizes sizes;
  int inter = 0;
  if (pmpi().Comm_test_inter(comm, &inter) != MPI_SUCCESS || pmpi().Comm_size(comm, &sizes.ranks) != MPI_SUCCESS || inter != 0) return sizes;
  const bool in_place = words[0] == word_of(MPI_IN_PLACE);
  const auto all = static_cast<std::uint64_t>(sizes.ranks);
  switch (noted.kind) {
    case RecordedKind::alltoall: sizes.bytes = all * (in_place ? bytes_of(words[4], words[5]) : bytes_of(words[1], words[2])); break;
    case RecordedKind::alltoallv:
    case RecordedKind::alltoallw: sizes.bytes = bytes_of_blocks(in_place ? 5 : 1, sizes.ranks); break;
    case RecordedKind::allreduce: sizes.bytes = bytes_of(words[2], words[3]); break;
    case RecordedKind::allgather: sizes.bytes = in_place ? bytes_of(words[4], words[5]) : bytes_of(words[1], words[2]); break;
    case RecordedKind::reduce_scatter_block: sizes.bytes = all * bytes_of(words[2], words[3]); break;
  }
  return sizes;
}

}  // namespace

bool tracing() {
  static const bool on = !process_settings().trace.empty();
  return on;
}

void note_traced_arguments(RecordedKind kind, const Word64* words, bool large_counts) {
  if (!tracing()) return;
  noted.is = true;
  noted.kind = kind;
  noted.large_counts = large_counts;
  std::copy(words, words + kWords[static_cast<int>(kind)], noted.words);
}

trace::Number trace_function(const char* name) {
  if (!tracing()) return 0;
  if (!trace::on()) open_trace();
  noted.is = false;
  return trace::begin({name, trace::Kind::call});
}

void trace_function(const char* name, std::int64_t began_ns) {
  if (!tracing()) return;
  if (!trace::on()) open_trace();
  trace::end(trace::begin({.name = name, .kind = trace::Kind::call, .began_ns = began_ns}));
}

TracedSizes trace_returns(trace::Number event, const Carried& carried, bool succeeded) {
  if (event == 0) return {};
  const TracedSizes sizes = succeeded && noted.is && find_functions() != nullptr ? sizes_of_noted() : TracedSizes{};
  noted.is = false;
  const bool native = !carried.done || carried.on_copies;
  // Of a pending call nobody knows yet what carries it: that stands with its end.
  const bool known = native || std::strcmp(carried.algorithm, "native") != 0;
  trace::tell(event, {native ? "native" : known ? carried.algorithm : nullptr, native ? carried.native_because : nullptr, sizes.bytes, sizes.ranks});
  trace::end(event);
  return sizes;
}

trace::Number trace_pending(const char* name, const TracedSizes& sizes, std::int64_t began_ns) {
  if (!trace::on()) return 0;
  const trace::Number event = trace::begin({.name = name, .kind = trace::Kind::pending, .bytes = sizes.bytes, .began_ns = began_ns});
  tell_sizes(event, sizes);
  return event;
}

void tell_sizes(trace::Number event, const TracedSizes& sizes) { trace::tell(event, {nullptr, nullptr, sizes.bytes, sizes.ranks}); }

}  // namespace crossrail::mpi
