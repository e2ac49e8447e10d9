#include "mpi/interpose/fortran_arguments.h"

#include <algorithm>

#include "base/of_thread.h"
#include "mpi/library/pmpi.h"

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

}  // namespace

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

const Conversions& conversions() {
  static const Conversions known{reinterpret_cast<MPI_Comm (*)(MPI_Fint)>(library_symbol("PMPI_Comm_f2c")),
                                 reinterpret_cast<MPI_Datatype (*)(MPI_Fint)>(library_symbol("PMPI_Type_f2c")),
                                 reinterpret_cast<MPI_Op (*)(MPI_Fint)>(library_symbol("PMPI_Op_f2c")),
                                 reinterpret_cast<MPI_Request (*)(MPI_Fint)>(library_symbol("PMPI_Request_f2c")),
                                 reinterpret_cast<MPI_Fint (*)(MPI_Request)>(library_symbol("PMPI_Request_c2f"))};
  return known;
}

namespace {

// Headers say what MPI_Fint is. An MPI library that was built for longer default integers (-fdefault-integer-8, -i8) has others.
bool integers_are_as_in_header() {
  static const bool known = [] {
    int bytes = 0;
    return find_functions() != nullptr && pmpi().Type_size(MPI_INTEGER, &bytes) == MPI_SUCCESS && bytes == static_cast<int>(sizeof(MPI_Fint));
  }();
  return known;
}

}  // namespace

bool convertible() {
  return library().ours && integers_are_as_in_header() && conversions().comm != nullptr && conversions().type != nullptr && conversions().op != nullptr &&
         conversions().request != nullptr &&
         conversions().fortran_request != nullptr;
}

Word64 types_at(Word64 address, int ranks, std::vector<MPI_Datatype>& kept) {
  kept.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) kept[rank] = conversions().type(reinterpret_cast<const MPI_Fint*>(address)[rank]);
  return reinterpret_cast<Word64>(kept.data());
}

void allreduce_arguments(const Word64* words, Word64* arguments) {
  const Word64 found[6] = {c_address(words[0]), c_address(words[1]), fortran_integer(words[2]), type_at(words[3]), op_at(words[4]), comm_at(words[5])};
  std::copy(found, found + 6, arguments);
}

void alltoall_arguments(const Word64* words, Word64* arguments) {
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 found[7] = {sendbuf,
                           in_place ? 0 : fortran_integer(words[1]),
                           in_place ? 0 : type_at(words[2]),
                           c_address(words[3]),
                           fortran_integer(words[4]),
                           type_at(words[5]),
                           comm_at(words[6])};
  std::copy(found, found + 7, arguments);
}

void alltoallv_arguments(const Word64* words, Word64* arguments) {
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 found[9] = {sendbuf,  words[1], words[2], in_place ? 0 : type_at(words[3]), c_address(words[4]),
                           words[5], words[6], type_at(words[7]), comm_at(words[8])};
  std::copy(found, found + 9, arguments);
}

bool alltoallw_arguments(const Word64* words, Word64* arguments) {
  const Word64 comm = comm_at(words[8]);
  int ranks = 0, inter = 0;
  const auto handle = reinterpret_cast<MPI_Comm>(comm);
  if (handle == handles().comm_null || pmpi().Comm_test_inter(handle, &inter) != MPI_SUCCESS || inter != 0) return false;
  if (pmpi().Comm_size(handle, &ranks) != MPI_SUCCESS) return false;
  struct Sent {};
  struct Received {};
  auto& sent = of_thread<std::vector<MPI_Datatype>, Sent>();
  auto& received = of_thread<std::vector<MPI_Datatype>, Received>();
  const Word64 sendbuf = c_address(words[0]);
  const bool in_place = sendbuf == reinterpret_cast<Word64>(MPI_IN_PLACE);
  const Word64 found[9] = {sendbuf,
                           words[1],
                           words[2],
                           in_place ? 0 : types_at(words[3], ranks, sent),
                           c_address(words[4]),
                           words[5],
                           words[6],
                           types_at(words[7], ranks, received),
                           comm};
  std::copy(found, found + 9, arguments);
  return true;
}

}  // namespace crossrail::mpi
