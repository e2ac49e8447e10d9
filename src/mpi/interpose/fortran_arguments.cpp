#include "mpi/interpose/fortran_arguments.h"

#include <vector>

#include "base/of_thread.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/significant_sides.h"

namespace crossrail::mpi {
namespace {

// In Fortran, MPI_IN_PLACE and MPI_BOTTOM are addresses of common blocks, in four manglings.
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

// Returns whether MPI_Fint is as the header says. An MPI library that was built for longer default integers (-fdefault-integer-8, -i8) has
// another one.
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

namespace {

// Returns how many types there are in each array, or 0 if the call is native in any case.
int ranks_of(Word64 comm) {
  int ranks = 0, between_groups = 0;
  const auto handle = reinterpret_cast<MPI_Comm>(comm);
  if (handle == handles().comm_null || pmpi().Comm_test_inter(handle, &between_groups) != MPI_SUCCESS || between_groups != 0) return 0;
  return pmpi().Comm_size(handle, &ranks) == MPI_SUCCESS ? ranks : 0;
}

// Converts an array of types into memory that each thread keeps until its next such call.
Word64 types_at(Word64 address, int ranks, bool received) {
  struct Sent {};
  struct Received {};
  auto& kept = received ? of_thread<std::vector<MPI_Datatype>, Received>() : of_thread<std::vector<MPI_Datatype>, Sent>();
  kept.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) kept[static_cast<std::size_t>(rank)] = conversions().type(reinterpret_cast<const MPI_Fint*>(address)[rank]);
  return reinterpret_cast<Word64>(kept.data());
}

}  // namespace

FortranArguments::FortranArguments(const EntryPoint& entry, const Word64* words, std::size_t count) : code_(reinterpret_cast<MPI_Fint*>(words[count - 1])) {
  converted_ = convertible() && find_functions() != nullptr && convert(entry.function, words);
  if (entry.form == Form::blocking) return;
  request_address_ = words[count - 2];
  c_words_[entry.function.request_word(entry.form)] = reinterpret_cast<Word64>(&request_);
}

// In place, and on ranks where a side means nothing, its arguments may be anything, so they are not converted.
bool FortranArguments::convert(const MpiFunction& function, const Word64* words) {
  const int count = function.words();
  const Word64 comm = comm_at(words[count - 1]);
  const int ranks = function.has('T') ? ranks_of(comm) : 0;
  if (function.has('T') && ranks == 0) return false;
  SignificantSides means;
  if (function.root_word >= 0) {
    if (ranks_of(comm) == 0) return false;
    means = significant_sides(function, fortran_integer(words[function.root_word]), rank_in(reinterpret_cast<MPI_Comm>(comm)));
  }
  bool means_nothing = false;  // This is about the side that `at` belongs to.
  for (int at = 0; at < count; ++at) {
    const char letter = function.arguments[static_cast<std::size_t>(at)];
    const bool received = at > function.receive_word;
    Word64& word = c_words_[at];
    switch (letter) {
      case 's':
      case 'r':
        word = c_address(words[at]);
        means_nothing = word == reinterpret_cast<Word64>(MPI_IN_PLACE) || !(letter == 's' ? means.sent : means.received);
        break;
      case 'n': word = means_nothing ? 0 : fortran_integer(words[at]); break;
      case 't': word = means_nothing ? 0 : type_at(words[at]); break;
      case 'T': word = means_nothing ? 0 : types_at(words[at], ranks, received); break;
      case 'k': word = static_cast<Word64>(fortran_integer(words[at])); break;
      case 'o': word = op_at(words[at]); break;
      case 'c': word = comm; break;
      default: word = words[at];  // These are addresses of int, as in C.
    }
  }
  return true;
}

void FortranArguments::give_back(const CallResult& result) const {
  if (request_address_ != 0 && result.code == MPI_SUCCESS) *reinterpret_cast<MPI_Fint*>(request_address_) = conversions().fortran_request(request_);
  if (code_ != nullptr) *code_ = result.code;
}

}  // namespace crossrail::mpi
