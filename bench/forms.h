// These are the forms of a collective's call (blocking, nonblocking and persistent), made from one function that says their arguments.
//
// A bench of a collective is one file, which has prepare, fill, check, arguments, and
//
//   int main(int argc, char** argv) {
//     return bench::run<BENCH_FORMS(arguments, Alltoall, alltoall)>({.name = "alltoall", .prepare = prepare, .fill = fill, .check = check}, argc, argv);
//   }
//
// arguments(send, recv, exchange) returns a std::tuple of what MPI's function takes before the communicator, in MPI's types. The first two
// are this call's buffers; `send` may be MPI_IN_PLACE.
#pragma once

#include <cctype>
#include <string>
#include <tuple>
#include <utility>

#include "calls.h"
#include "harness.h"

namespace bench {

template <typename Arguments>
struct InitWith;
template <typename... Argument>
struct InitWith<std::tuple<Argument...>> {
  using Function = int (*)(Argument..., MPI_Comm, MPI_Info, MPI_Request*);
};

template <auto arguments, auto of_mpi, auto of_crossrail, auto start_of_mpi, auto start_of_crossrail>
struct Forms {
  using Init = typename InitWith<decltype(arguments(nullptr, nullptr, std::declval<const Exchange&>()))>::Function;
  static inline PersistentEntry<Init> entry{};

  static int call(const void* send, void* recv, const Exchange& exchange, const Contender& contender) {
    const auto function = contender.choose(of_mpi, of_crossrail);
    return std::apply([&](auto... all) { return function(all..., contender.comm); }, arguments(send, recv, exchange));
  }
  static int start(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) {
    const auto function = contender.choose(start_of_mpi, start_of_crossrail);
    return std::apply([&](auto... all) { return function(all..., contender.comm, request); }, arguments(send, recv, exchange));
  }
  static int init(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) {
    const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
    return std::apply([&](auto... all) { return function(all..., contender.comm, MPI_INFO_NULL, request); }, arguments(send, recv, exchange));
  }
};

// These are the forms of a collective, and those of another one for contenders that make the same exchange with it.
template <typename Own, typename Other, bool (*is_other)(const Contender&)>
struct Either : Own {
  static int call(const void* send, void* recv, const Exchange& exchange, const Contender& contender) {
    return (is_other(contender) ? Other::call : Own::call)(send, recv, exchange, contender);
  }
  static int start(const void* send, void* recv, const Exchange& exchange, const Contender& contender, MPI_Request* request) {
    return (is_other(contender) ? Other::start : Own::start)(send, recv, exchange, contender, request);
  }
};

// The names are MPI's: as in MPI_Alltoall, and as in MPI_Ialltoall.
#define BENCH_FORMS(arguments, Name, name) bench::Forms<arguments, PMPI_##Name, MPI_##Name, PMPI_I##name, MPI_I##name>

template <typename Calls>
int run(Collective collective, int argc, char** argv) {
  std::string name = collective.name;
  name[0] = static_cast<char>(std::toupper(name[0]));
  Calls::entry = persistent_entry<typename Calls::Init>((name + "_init").c_str());
  collective.call = Calls::call;
  collective.start = Calls::start;
  collective.init = Calls::entry.of_mpi == nullptr ? nullptr : Calls::init;
  return run(collective, argc, argv);
}

}  // namespace bench
