// The Fortran entry points of Open MPI, whose bindings go straight to PMPI: mpi_alltoall_ with its
// manglings (mpif.h, use mpi) and ompi_alltoall_f (what mpi_f08 calls). In the MPICH family the
// Fortran bindings call the C names, which are enough.

#include "mpi/carry.h"
#include "mpi/flavour.h"
#include "mpi/next_call.h"
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

// The arguments of a Fortran call, which are addresses, as those of the C call.
Carried carry_fortran(const Word64 (&words)[8]) {
  if (!library().ours || conversions().comm == nullptr || conversions().type == nullptr) return {};
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const auto type = [](Word64 address) {
    return reinterpret_cast<Word64>(conversions().type(fortran_integer(address)));
  };
  const Word64 arguments[7] = {sendbuf,
                               in_place ? 0 : fortran_integer(words[1]),
                               in_place ? 0 : type(words[2]),
                               c_address(words[3]),
                               fortran_integer(words[4]),
                               type(words[5]),
                               reinterpret_cast<Word64>(conversions().comm(fortran_integer(words[6])))};
  return carry_alltoall(arguments, false);
}

void alltoall(NextCall& next, CallCounter& counter, const Word64 (&words)[8]) {
  const std::int64_t began = counting() ? now_ns() : 0;
  Carried carried = carry_fortran(words);
  auto* code = reinterpret_cast<MPI_Fint*>(words[7]);
  if (!carried.done) {
    (void)next(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]);
  } else if (code != nullptr) {  // mpi_f08: ierror is optional
    *code = carried.code;
  }
  if (began != 0) counter.add(carried, now_ns() - began);
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

#define ALLTOALL_AS(symbol)                                                       \
  CROSSRAIL_EXPORT void symbol(WORDS_8) {                                         \
    static crossrail::mpi::NextCall next(#symbol);                                \
    static crossrail::mpi::CallCounter counter("MPI_Alltoall", "fortran");        \
    crossrail::mpi::alltoall(next, counter, {NAMES_8});                           \
  }
ALLTOALL_AS(mpi_alltoall_)
ALLTOALL_AS(mpi_alltoall)
ALLTOALL_AS(mpi_alltoall__)
ALLTOALL_AS(MPI_ALLTOALL)
ALLTOALL_AS(ompi_alltoall_f)

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
// One word more than in C: ierror.
PASSED_FORTRAN(alltoallv, ALLTOALLV, "MPI_Alltoallv", 10)
PASSED_FORTRAN(alltoallw, ALLTOALLW, "MPI_Alltoallw", 10)
PASSED_FORTRAN(allreduce, ALLREDUCE, "MPI_Allreduce", 7)
PASSED_FORTRAN(ialltoall, IALLTOALL, "MPI_Ialltoall", 9)
PASSED_FORTRAN(ialltoallv, IALLTOALLV, "MPI_Ialltoallv", 11)
PASSED_FORTRAN(ialltoallw, IALLTOALLW, "MPI_Ialltoallw", 11)
PASSED_FORTRAN(iallreduce, IALLREDUCE, "MPI_Iallreduce", 8)
PASSED_FORTRAN(alltoall_init, ALLTOALL_INIT, "MPI_Alltoall_init", 10)
PASSED_FORTRAN(alltoallv_init, ALLTOALLV_INIT, "MPI_Alltoallv_init", 12)
PASSED_FORTRAN(alltoallw_init, ALLTOALLW_INIT, "MPI_Alltoallw_init", 12)
PASSED_FORTRAN(allreduce_init, ALLREDUCE_INIT, "MPI_Allreduce_init", 9)
