// As interpose_fortran.cpp, for nonblocking and persistent calls: they give the program a request. Waiting for it
// needs nothing of ours.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/of_thread.h"
#include "mpi/communicator/unanswered.h"
#include "mpi/interpose/fortran_arguments.h"
#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/nonblocking.h"
#include "mpi/requests/persistent.h"
#include "mpi/requests/refused_requests.h"
#include "mpi/statistics/request_times.h"
#include "mpi/tracing/traced_calls.h"

namespace crossrail::mpi {
namespace {

struct Entry {
  NextCall next;
  CallCounter counter;
  Carried (*start)(const Word64* words, CallCounter* counter, MPI_Request* request);
  Form form;
};

using Start = Carried (*)(const Word64* words, bool large_counts, CallCounter* counter);

// Of a call whose C form has `count` words before the request; what lies between the arguments and the request (info)
// is not looked at.
template <std::size_t arguments, std::size_t count>
Carried begin(Start start, const Word64 (&converted)[arguments], CallCounter* counter, MPI_Request* request) {
  Word64 words[count + 1] = {};
  std::copy(converted, converted + arguments, words);
  words[count] = reinterpret_cast<Word64>(request);
  return start(words, false, counter);
}

template <Start start, std::size_t count>
Carried alltoall(const Word64* words, CallCounter* counter, MPI_Request* request) {
  Word64 converted[7];
  alltoall_arguments(words, converted);
  return begin<7, count>(start, converted, counter, request);
}

template <Start start, std::size_t count>
Carried alltoallv(const Word64* words, CallCounter* counter, MPI_Request* request) {
  Word64 converted[9];
  alltoallv_arguments(words, converted);
  return begin<9, count>(start, converted, counter, request);
}

template <Start start, std::size_t count>
Carried alltoallw(const Word64* words, CallCounter* counter, MPI_Request* request) {
  Word64 converted[9];
  if (!alltoallw_arguments(words, converted)) return {};
  return begin<9, count>(start, converted, counter, request);
}

template <Start start, std::size_t count>
Carried allreduce(const Word64* words, CallCounter* counter, MPI_Request* request) {
  Word64 converted[6];
  allreduce_arguments(words, converted);
  return begin<6, count>(start, converted, counter, request);
}

template <std::size_t... index>
void call_next(NextCall& next, const Word64* words, std::index_sequence<index...>) {
  const InNextCall inside;
  (void)next(words[index]...);
}

// The last words are the addresses of the request and of ierror.
template <std::size_t count>
void offer(Entry& entry, const Word64 (&words)[count]) {
  const std::int64_t began = clock_entry();
  const bool converts = convertible() && find_functions() != nullptr;
  MPI_Request request{};
  Carried carried;
  const trace::Number traced = began == 0 ? 0 : trace_function(entry.counter.name());
  if (converts) carried = entry.start(words, &entry.counter, &request);
  auto* const code = reinterpret_cast<MPI_Fint*>(words[count - 1]);
  if (!carried.done) {
    call_next(entry.next, words, std::make_index_sequence<count>());
    if (code != nullptr) carried.code = *code;
  } else {
    if (carried.code == MPI_SUCCESS) *reinterpret_cast<MPI_Fint*>(words[count - 2]) = conversions().fortran_request(request);
    if (code != nullptr) *code = carried.code;  // mpi_f08: ierror is optional
  }
  const RequestsAt made{1, converts ? words[count - 2] : 0, read_fortran_handle};
  Unanswered::note_made(carried, made);
  if (began != 0) note_made({entry.counter, entry.form, began, traced}, carried, made);
}

// MPI_Start and MPI_Startall. False: none of the requests is ours.
bool start_ours(int count, Word64 requests, Word64 code) {
  struct Converted {};
  auto& converted = of_thread<std::vector<MPI_Request>, Converted>();
  converted.resize(static_cast<std::size_t>(std::max(count, 0)));
  for (int one = 0; one < count; ++one) converted[one] = conversions().request(reinterpret_cast<const MPI_Fint*>(requests)[one]);
  const Carried carried = start_requests(count, reinterpret_cast<Word64>(converted.data()));
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

// `next` hands the call on. MPI_Cancel needs nothing here: Fortran's calls PMPI_Cancel.
template <class Next>
void free_fortran(Word64 request, Word64 code, const Next& next) {
  if (convertible() && find_functions() != nullptr) {
    MPI_Request converted = conversions().request(fortran_integer(request));
    const auto address = reinterpret_cast<Word64>(&converted);
    if (const Carried refused = refuse_free(address); refused.done) {
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

// In all manglings of Fortran compilers, and as mpi_f08 calls it.
#define MANGLED(entry, lower, upper) entry(mpi_##lower##_) entry(mpi_##lower) entry(mpi_##lower##__) entry(MPI_##upper) entry(ompi_##lower##_f)

#define STARTED_AS(symbol, function, c_name, form, words)                                         \
  CROSSRAIL_EXPORT void symbol(WORDS_##words) {                                                   \
    static crossrail::mpi::Entry entry{crossrail::mpi::NextCall(#symbol), {c_name, "fortran"}, crossrail::mpi::function, \
                                       crossrail::mpi::Form::form};                               \
    crossrail::mpi::offer(entry, {NAMES_##words});                                                \
  }
#define COMMA ,
#define IALLTOALL(symbol) STARTED_AS(symbol, alltoall<crossrail::mpi::start_alltoall COMMA 7>, "MPI_Ialltoall", nonblocking, 9)
#define IALLTOALLV(symbol) STARTED_AS(symbol, alltoallv<crossrail::mpi::start_alltoallv COMMA 9>, "MPI_Ialltoallv", nonblocking, 11)
#define IALLTOALLW(symbol) STARTED_AS(symbol, alltoallw<crossrail::mpi::start_alltoallw COMMA 9>, "MPI_Ialltoallw", nonblocking, 11)
#define ALLTOALL_INIT(symbol) STARTED_AS(symbol, alltoall<crossrail::mpi::init_alltoall COMMA 8>, "MPI_Alltoall_init", persistent, 10)
#define ALLTOALLV_INIT(symbol) STARTED_AS(symbol, alltoallv<crossrail::mpi::init_alltoallv COMMA 10>, "MPI_Alltoallv_init", persistent, 12)
#define ALLTOALLW_INIT(symbol) STARTED_AS(symbol, alltoallw<crossrail::mpi::init_alltoallw COMMA 10>, "MPI_Alltoallw_init", persistent, 12)
#define IALLREDUCE(symbol) STARTED_AS(symbol, allreduce<crossrail::mpi::start_allreduce COMMA 6>, "MPI_Iallreduce", nonblocking, 8)
#define IALLGATHER(symbol) STARTED_AS(symbol, alltoall<crossrail::mpi::start_allgather COMMA 7>, "MPI_Iallgather", nonblocking, 9)
#define ALLGATHER_INIT(symbol) STARTED_AS(symbol, alltoall<crossrail::mpi::init_allgather COMMA 8>, "MPI_Allgather_init", persistent, 10)
#define IREDUCE_SCATTER_BLOCK(symbol) \
  STARTED_AS(symbol, allreduce<crossrail::mpi::start_reduce_scatter_block COMMA 6>, "MPI_Ireduce_scatter_block", nonblocking, 8)
#define REDUCE_SCATTER_BLOCK_INIT(symbol) \
  STARTED_AS(symbol, allreduce<crossrail::mpi::init_reduce_scatter_block COMMA 7>, "MPI_Reduce_scatter_block_init", persistent, 9)
#define ALLREDUCE_INIT(symbol) STARTED_AS(symbol, allreduce<crossrail::mpi::init_allreduce COMMA 7>, "MPI_Allreduce_init", persistent, 9)
MANGLED(IALLTOALL, ialltoall, IALLTOALL)
MANGLED(IALLTOALLV, ialltoallv, IALLTOALLV)
MANGLED(IALLTOALLW, ialltoallw, IALLTOALLW)
MANGLED(ALLTOALL_INIT, alltoall_init, ALLTOALL_INIT)
MANGLED(ALLTOALLV_INIT, alltoallv_init, ALLTOALLV_INIT)
MANGLED(ALLTOALLW_INIT, alltoallw_init, ALLTOALLW_INIT)
MANGLED(IALLREDUCE, iallreduce, IALLREDUCE)
MANGLED(ALLREDUCE_INIT, allreduce_init, ALLREDUCE_INIT)
MANGLED(IALLGATHER, iallgather, IALLGATHER)
MANGLED(ALLGATHER_INIT, allgather_init, ALLGATHER_INIT)
MANGLED(IREDUCE_SCATTER_BLOCK, ireduce_scatter_block, IREDUCE_SCATTER_BLOCK)
MANGLED(REDUCE_SCATTER_BLOCK_INIT, reduce_scatter_block_init, REDUCE_SCATTER_BLOCK_INIT)
// Open MPI 4's names.
ALLTOALL_INIT(mpix_alltoall_init_)
ALLTOALLV_INIT(mpix_alltoallv_init_)
ALLTOALLW_INIT(mpix_alltoallw_init_)
ALLREDUCE_INIT(mpix_allreduce_init_)
ALLGATHER_INIT(mpix_allgather_init_)
REDUCE_SCATTER_BLOCK_INIT(mpix_reduce_scatter_block_init_)
ALLTOALL_INIT(ompix_alltoall_init_f)
ALLTOALLV_INIT(ompix_alltoallv_init_f)
ALLTOALLW_INIT(ompix_alltoallw_init_f)
ALLREDUCE_INIT(ompix_allreduce_init_f)
ALLGATHER_INIT(ompix_allgather_init_f)
REDUCE_SCATTER_BLOCK_INIT(ompix_reduce_scatter_block_init_f)

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

// Blocking collectives that are not ours, as in blocking.def.
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
  entry(mpi_##lower##_, name) entry(mpi_##lower, name) entry(mpi_##lower##__, name) entry(MPI_##upper, name) entry(ompi_##lower##_f, name)
#define BLOCKING(name, lower, upper, words, comm, all_wait) NAMED(BLOCKING_##words##_##comm, "MPI_" #name, lower, upper)
#include "mpi/interpose/blocking.def"
