// The Fortran entry points of Open MPI, whose bindings go straight to PMPI: mpi_alltoall_ with its
// manglings (mpif.h, use mpi) and ompi_alltoall_f (what mpi_f08 calls), and so on. In the MPICH
// family the Fortran bindings call the C names, which are enough.

#include <utility>

#include "mpi/interpose/carry.h"
#include "mpi/interpose/fortran_arguments.h"
#include "mpi/library/flavour.h"
#include "mpi/interpose/next_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/interpose/words.h"
#include "mpi/recording/recorder.h"
#include "mpi/tracing/traced_calls.h"

namespace crossrail::mpi {
namespace {

Carried alltoall(const Word64* words) {
  if (!convertible()) return {};
  Word64 arguments[7];
  alltoall_arguments(words, arguments);
  return carry_alltoall(arguments, false);
}

Carried alltoallv(const Word64* words) {
  if (!convertible()) return {};
  Word64 arguments[9];
  alltoallv_arguments(words, arguments);
  return carry_alltoallv(arguments, false);
}

Carried alltoallw(const Word64* words) {
  Word64 arguments[9];
  if (!convertible() || find_functions() == nullptr || !alltoallw_arguments(words, arguments)) return {};
  return carry_alltoallw(arguments, false);
}

Carried allreduce(const Word64* words) {
  if (!convertible()) return {};
  Word64 arguments[6];
  allreduce_arguments(words, arguments);
  return carry_allreduce(arguments, false);
}

Carried allgather(const Word64* words) {
  if (!convertible()) return {};
  Word64 arguments[7];
  alltoall_arguments(words, arguments);
  return carry_allgather(arguments, false);
}

Carried reduce_scatter_block(const Word64* words) {
  if (!convertible()) return {};
  Word64 arguments[6];
  allreduce_arguments(words, arguments);
  return carry_reduce_scatter_block(arguments, false);
}

struct Entry {
  NextCall next;
  CallCounter counter;
  Carried (*carry)(const Word64* words);
};

template <std::size_t... index>
void call_next(NextCall& next, const Word64* words, std::index_sequence<index...>) {
  const InNextCall inside;
  (void)next(words[index]...);
}

// The last word is the address of ierror.
template <std::size_t count>
void offer(Entry& entry, const Word64 (&words)[count]) {
  const std::int64_t began = counting() ? now_ns() : 0;
  const trace::Number traced = began == 0 ? 0 : trace_function(entry.counter.name());
  const Carried carried = entry.carry(words);
  auto* code = reinterpret_cast<MPI_Fint*>(words[count - 1]);
  if (!carried.done) {
    call_next(entry.next, words, std::make_index_sequence<count>());
  } else if (code != nullptr) {  // mpi_f08: ierror is optional
    *code = carried.code;
  }
  has_ended(carried);
  if (began != 0) {
    (void)trace_returns(traced, carried, code == nullptr ? carried.code == 0 : *code == 0);
    record_call(RecordedForm::blocking, carried.code == 0, began);
    ask_world();
    entry.counter.add(carried, now_ns() - began);
  }
  raise_error(carried);
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

#define OFFERED_AS(symbol, function, c_name, words)                                                        \
  CROSSRAIL_EXPORT void symbol(WORDS_##words) {                                                           \
    static crossrail::mpi::Entry entry{crossrail::mpi::NextCall(#symbol), {c_name, "fortran"},            \
                                       crossrail::mpi::function};                                         \
    crossrail::mpi::offer(entry, {NAMES_##words});                                                        \
  }
// One word more than in C: ierror.
#define OFFERED(lower, upper, c_name, words)       \
  OFFERED_AS(mpi_##lower##_, lower, c_name, words)   \
  OFFERED_AS(mpi_##lower, lower, c_name, words)      \
  OFFERED_AS(mpi_##lower##__, lower, c_name, words)  \
  OFFERED_AS(MPI_##upper, lower, c_name, words)      \
  OFFERED_AS(ompi_##lower##_f, lower, c_name, words)
OFFERED(alltoall, ALLTOALL, "MPI_Alltoall", 8)
OFFERED(alltoallv, ALLTOALLV, "MPI_Alltoallv", 10)
OFFERED(alltoallw, ALLTOALLW, "MPI_Alltoallw", 10)
OFFERED(allreduce, ALLREDUCE, "MPI_Allreduce", 7)
OFFERED(allgather, ALLGATHER, "MPI_Allgather", 8)
OFFERED(reduce_scatter_block, REDUCE_SCATTER_BLOCK, "MPI_Reduce_scatter_block", 7)
