// The Fortran entry points of Open MPI, whose bindings go straight to PMPI: mpi_alltoall_ with its
// manglings (mpif.h, use mpi) and ompi_alltoall_f (what mpi_f08 calls), and so on. In the MPICH
// family the Fortran bindings call the C names, which are enough.

#include <utility>
#include <vector>

#include "mpi/carry.h"
#include "mpi/communicators.h"
#include "mpi/flavour.h"
#include "mpi/next_call.h"
#include "mpi/pmpi.h"
#include "mpi/words.h"

namespace crossrail::mpi {
namespace {

// MPI_IN_PLACE and MPI_BOTTOM of Fortran are addresses of common blocks, in four manglings.
struct Sentinels {
  void* in_place[4];
  void* bottom[4];
};

const Sentinels& sentinels() {
  static const Sentinels known = [] {
    return Sentinels{{library_data("mpi_fortran_in_place_"), library_data("mpi_fortran_in_place"), library_data("mpi_fortran_in_place__"),
                      library_data("MPI_FORTRAN_IN_PLACE")},
                     {library_data("mpi_fortran_bottom_"), library_data("mpi_fortran_bottom"), library_data("mpi_fortran_bottom__"),
                      library_data("MPI_FORTRAN_BOTTOM")}};
  }();
  return known;
}

Word64 c_address(Word64 address) {
  if (address == 0) return address;
  for (void* in_place : sentinels().in_place) {
    if (reinterpret_cast<void*>(address) == in_place) return reinterpret_cast<Word64>(MPI_IN_PLACE);
  }
  for (void* bottom : sentinels().bottom) {
    if (reinterpret_cast<void*>(address) == bottom) return reinterpret_cast<Word64>(MPI_BOTTOM);
  }
  return address;
}

struct Conversions {
  MPI_Comm (*comm)(MPI_Fint);
  MPI_Datatype (*type)(MPI_Fint);
};

const Conversions& conversions() {
  static const Conversions known{reinterpret_cast<MPI_Comm (*)(MPI_Fint)>(library_symbol("PMPI_Comm_f2c")),
                                 reinterpret_cast<MPI_Datatype (*)(MPI_Fint)>(library_symbol("PMPI_Type_f2c"))};
  return known;
}

MPI_Fint fortran_integer(Word64 address) { return *reinterpret_cast<const MPI_Fint*>(address); }
Word64 type_at(Word64 address) { return reinterpret_cast<Word64>(conversions().type(fortran_integer(address))); }
Word64 comm_at(Word64 address) { return reinterpret_cast<Word64>(conversions().comm(fortran_integer(address))); }

bool convertible() { return library().ours && conversions().comm != nullptr && conversions().type != nullptr; }

// The arguments of a Fortran call, which are addresses, as those of the C call. In place, those of
// the send side may be anything.
Carried alltoall(const Word64* words) {
  if (!convertible()) return {};
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 arguments[7] = {sendbuf,
                               in_place ? 0 : fortran_integer(words[1]),
                               in_place ? 0 : type_at(words[2]),
                               c_address(words[3]),
                               fortran_integer(words[4]),
                               type_at(words[5]),
                               comm_at(words[6])};
  return carry_alltoall(arguments, false);
}

// Fortran's counts and displacements are C's int already.
static_assert(sizeof(MPI_Fint) == sizeof(int));

Carried alltoallv(const Word64* words) {
  if (!convertible()) return {};
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 arguments[9] = {sendbuf,  words[1], words[2], in_place ? 0 : type_at(words[3]), c_address(words[4]),
                               words[5], words[6], type_at(words[7]), comm_at(words[8])};
  return carry_alltoallv(arguments, false);
}

// A type for every rank, in memory that each thread keeps.
Word64 types_at(Word64 address, int ranks, std::vector<MPI_Datatype>& kept) {
  kept.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) kept[rank] = conversions().type(reinterpret_cast<const MPI_Fint*>(address)[rank]);
  return reinterpret_cast<Word64>(kept.data());
}

Carried alltoallw(const Word64* words) {
  if (!convertible() || find_functions() == nullptr) return {};
  const Word64 comm = comm_at(words[8]);
  const CommunicatorRecord* record = record_of(reinterpret_cast<MPI_Comm>(comm));
  if (record == nullptr || record->communicator == nullptr) return {};
  const int ranks = record->communicator->topology.size;
  static thread_local std::vector<MPI_Datatype> sent, received;
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 arguments[9] = {sendbuf,
                               words[1],
                               words[2],
                               in_place ? 0 : types_at(words[3], ranks, sent),
                               c_address(words[4]),
                               words[5],
                               words[6],
                               types_at(words[7], ranks, received),
                               comm};
  return carry_alltoallw(arguments, false);
}

struct Entry {
  NextCall next;
  CallCounter counter;
  Carried (*carry)(const Word64* words);
};

template <std::size_t... index>
void call_next(NextCall& next, const Word64* words, std::index_sequence<index...>) {
  (void)next(words[index]...);
}

// The last word is the address of ierror.
template <std::size_t count>
void offer(Entry& entry, const Word64 (&words)[count]) {
  const std::int64_t began = counting() ? now_ns() : 0;
  const Carried carried = entry.carry(words);
  auto* code = reinterpret_cast<MPI_Fint*>(words[count - 1]);
  if (!carried.done) {
    call_next(entry.next, words, std::make_index_sequence<count>());
  } else if (code != nullptr) {  // mpi_f08: ierror is optional
    *code = carried.code;
  }
  if (began != 0) entry.counter.add(carried, now_ns() - began);
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

#define PASSED_AS(symbol, c_name, words)                                          \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {                                 \
    static crossrail::mpi::NextCall next(#symbol);                                \
    static crossrail::mpi::CallCounter counter(c_name, "fortran");                \
    return crossrail::mpi::pass(next, counter, NAMES_##words);                    \
  }
#define PASSED_FORTRAN(lower, upper, c_name, words) \
  PASSED_AS(mpi_##lower##_, c_name, words)          \
  PASSED_AS(mpi_##lower, c_name, words)             \
  PASSED_AS(mpi_##lower##__, c_name, words)         \
  PASSED_AS(MPI_##upper, c_name, words)             \
  PASSED_AS(ompi_##lower##_f, c_name, words)
PASSED_FORTRAN(allreduce, ALLREDUCE, "MPI_Allreduce", 7)
PASSED_FORTRAN(ialltoall, IALLTOALL, "MPI_Ialltoall", 9)
PASSED_FORTRAN(ialltoallv, IALLTOALLV, "MPI_Ialltoallv", 11)
PASSED_FORTRAN(ialltoallw, IALLTOALLW, "MPI_Ialltoallw", 11)
PASSED_FORTRAN(iallreduce, IALLREDUCE, "MPI_Iallreduce", 8)
PASSED_FORTRAN(alltoall_init, ALLTOALL_INIT, "MPI_Alltoall_init", 10)
PASSED_FORTRAN(alltoallv_init, ALLTOALLV_INIT, "MPI_Alltoallv_init", 12)
PASSED_FORTRAN(alltoallw_init, ALLTOALLW_INIT, "MPI_Alltoallw_init", 12)
PASSED_FORTRAN(allreduce_init, ALLREDUCE_INIT, "MPI_Allreduce_init", 9)
