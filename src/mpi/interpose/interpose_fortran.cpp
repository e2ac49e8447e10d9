// This file defines the Fortran entry points for Open MPI, whose bindings call PMPI directly: mpi_alltoall_ and its other manglings (mpif.h,
// use mpi), ompi_alltoall_f (which mpi_f08 calls), and so on. The Fortran bindings of MPICH and its relatives call the C names, which are
// enough there.

#include <algorithm>
#include <vector>

#include "base/of_thread.h"
#include "mpi/interpose/fortran_arguments.h"
#include "mpi/interpose/offer.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/refused_requests.h"
#include "mpi/words/parameter_lists.h"

namespace crossrail::mpi {
namespace {

// Starts the requests. Returns false if none of them is ours.
bool start_ours(int count, Word64 requests, Word64 code) {
  struct Converted {};
  auto& converted = of_thread<std::vector<MPI_Request>, Converted>();
  converted.resize(static_cast<std::size_t>(std::max(count, 0)));
  for (int one = 0; one < count; ++one) converted[one] = conversions().request(reinterpret_cast<const MPI_Fint*>(requests)[one]);
  const CallResult carried = start_requests(count, reinterpret_cast<Word64>(converted.data()));
  if (carried.done && code != 0) *reinterpret_cast<MPI_Fint*>(code) = carried.code;
  return carried.done;
}

// `next` hands the call on.
template <class Next>
void start_fortran(int count, Word64 requests, Word64 code, const Next& next) {
  if (!convertible() || find_functions() == nullptr) {
    next();
    return;
  }
  StartTime time({count, requests, read_fortran_handle});
  if (!start_ours(count, requests, code)) {
    const InNextCall inside;
    next();
  }
  (void)time.returns(code != 0 ? fortran_integer(code) : MPI_SUCCESS);
}

// `next` hands the call on. MPI_Cancel needs nothing here, because the Fortran binding calls PMPI_Cancel.
template <class Next>
void free_fortran(Word64 request, Word64 code, const Next& next) {
  if (convertible() && find_functions() != nullptr) {
    MPI_Request converted = conversions().request(fortran_integer(request));
    const auto address = reinterpret_cast<Word64>(&converted);
    if (const CallResult refused = refuse_free(address); refused.done) {
      if (code != 0) *reinterpret_cast<MPI_Fint*>(code) = refused.code;
      return;
    }
    free_request(address);
    forget_native_request({1, request, read_fortran_handle});
  }
  const InNextCall inside;
  next();
}

void blocking_fortran(Word64 comm) {
  if (convertible()) blocking_collective(comm_at(comm));
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

// This exports a name in those manglings of Fortran compilers that cannot be names of the program's own, and as mpi_f08 calls it. The
// mangling without an underscore (gfortran -fno-underscoring) is left to MPI, because C functions of a program may be called mpi_alltoall;
// R's Rmpi has such functions.
#define MANGLED(entry, lower, upper) entry(mpi_##lower##_) entry(mpi_##lower##__) entry(MPI_##upper) entry(ompi_##lower##_f)

#define OFFERED(symbol, c_name, row, form, words)                                                            \
  CROSSRAIL_EXPORT void symbol(WORDS(words)) {                                                               \
    using namespace crossrail::mpi;                                                                          \
    static EntryPoint entry(#symbol, c_name, {Function::row, Form::form, Language::fortran});                \
    (void)offer<FortranArguments>(entry, {NAMES(words)});                                                    \
  }
#define OFFERED_MANGLED(lower, upper, c_name, row, form, words)  \
  OFFERED(mpi_##lower##_, c_name, row, form, words)              \
  OFFERED(mpi_##lower##__, c_name, row, form, words)             \
  OFFERED(MPI_##upper, c_name, row, form, words)                 \
  OFFERED(ompi_##lower##_f, c_name, row, form, words)

// A Fortran function has one argument more than the C function: the error code. The last two names are those of Open MPI 4.
#define ENTRY_POINT(Name, name, NAME, words, ...)                                                                 \
  OFFERED_MANGLED(name, NAME, "MPI_" #Name, name, blocking, MORE_ONE(words))                                        \
  OFFERED_MANGLED(i##name, I##NAME, "MPI_I" #name, name, nonblocking, MORE_TWO(words))                              \
  OFFERED_MANGLED(name##_init, NAME##_INIT, "MPI_" #Name "_init", name, persistent, MORE_THREE(words))                \
  OFFERED(mpix_##name##_init_, "MPI_" #Name "_init", name, persistent, MORE_THREE(words))                             \
  OFFERED(ompix_##name##_init_f, "MPI_" #Name "_init", name, persistent, MORE_THREE(words))
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT

#define START(symbol)                                                               \
  CROSSRAIL_EXPORT void symbol(Word64 request, Word64 code) {                       \
    static crossrail::mpi::NextCall next(#symbol);                                  \
    crossrail::mpi::start_fortran(1, request, code, [&] { (void)next(request, code); }); \
  }
#define STARTALL(symbol)                                                            \
  CROSSRAIL_EXPORT void symbol(Word64 count, Word64 requests, Word64 code) {        \
    static crossrail::mpi::NextCall next(#symbol);                                  \
    crossrail::mpi::start_fortran(crossrail::mpi::fortran_integer(count), requests, code, [&] { (void)next(count, requests, code); }); \
  }
#define REQUEST_FREE(symbol)                                                        \
  CROSSRAIL_EXPORT void symbol(Word64 request, Word64 code) {                       \
    static crossrail::mpi::NextCall next(#symbol);                                  \
    crossrail::mpi::free_fortran(request, code, [&] { (void)next(request, code); }); \
  }
MANGLED(START, start, START)
MANGLED(STARTALL, startall, STARTALL)
MANGLED(REQUEST_FREE, request_free, REQUEST_FREE)

// Other blocking collectives are traced and passed on, as blocking.def says.
#define BLOCKING_AS(symbol, name, words, comm, all_wait) \
  CROSSRAIL_EXPORT void symbol(WORDS_##words) {        \
    static crossrail::mpi::NextCall next(#symbol);     \
    const crossrail::mpi::TracedFunction traced(name);  \
    if (all_wait) crossrail::mpi::blocking_fortran(a##comm); \
    const crossrail::mpi::InNextCall inside;           \
    (void)next(NAMES_##words);                         \
  }
#define BLOCKING_4_1(symbol, name) BLOCKING_AS(symbol, name, 5, 1, true)
#define BLOCKING_5_5(symbol, name) BLOCKING_AS(symbol, name, 6, 5, false)
#define BLOCKING_7_7(symbol, name) BLOCKING_AS(symbol, name, 8, 7, false)
#define NAMED(entry, name, lower, upper) \
  entry(mpi_##lower##_, name) entry(mpi_##lower##__, name) entry(MPI_##upper, name) entry(ompi_##lower##_f, name)
#define BLOCKING(name, lower, upper, words, comm, all_wait) NAMED(BLOCKING_##words##_##comm, "MPI_" #name, lower, upper)
#include "mpi/interpose/blocking.def"
