// FortranArguments converts the arguments of Fortran calls, which are addresses, to those of the C functions. In place, the arguments of
// the send side may be anything.
#pragma once

#include <cstddef>

#include "mpi/library/flavour.h"
#include "mpi/observe/entry_point.h"
#include "mpi/words/requests_at.h"

namespace crossrail::mpi {

struct Conversions {
  MPI_Comm (*comm)(MPI_Fint);
  MPI_Datatype (*type)(MPI_Fint);
  MPI_Op (*op)(MPI_Fint);
  MPI_Request (*request)(MPI_Fint);
  MPI_Fint (*fortran_request)(MPI_Request);
};
const Conversions& conversions();
// Returns whether calls can be converted at all in this process.
bool convertible();

// Returns Fortran's sentinels as those of C, and other addresses as they are.
Word64 c_address(Word64 address);
inline MPI_Fint fortran_integer(Word64 address) { return *reinterpret_cast<const MPI_Fint*>(address); }
// Reads a Fortran handle for RequestsAt.
inline Word64 read_fortran_handle(Word64 address, int index) {
  return reinterpret_cast<Word64>(conversions().request(reinterpret_cast<const MPI_Fint*>(address)[index]));
}
inline Word64 type_at(Word64 address) { return reinterpret_cast<Word64>(conversions().type(fortran_integer(address))); }
inline Word64 op_at(Word64 address) { return reinterpret_cast<Word64>(conversions().op(fortran_integer(address))); }
inline Word64 comm_at(Word64 address) { return reinterpret_cast<Word64>(conversions().comm(fortran_integer(address))); }

// Fortran's counts and displacements are C's int, so they need no conversion.
static_assert(sizeof(MPI_Fint) == sizeof(int));

// This object holds one call's words as those of the C function, and gives its results back to the program (interpose/offer.h).
class FortranArguments {
 public:
  FortranArguments(const EntryPoint& entry, const Word64* words, std::size_t count);
  // Returns null if the words cannot be converted.
  const Word64* c_words() const { return converted_ ? c_words_ : nullptr; }
  // Fortran's functions return nothing, so the code is what they have written. With mpi_f08 the program may leave out the place for it.
  int code(Word64) const { return code_ == nullptr ? MPI_SUCCESS : *code_; }
  void give_back(const CallResult& result) const;
  RequestsAt request() const { return {1, converted_ ? request_address_ : 0, read_fortran_handle}; }

 private:
  bool convert(const MpiFunction& function, const Word64* words);

  bool converted_ = false;
  MPI_Fint* code_;
  Word64 request_address_ = 0;  // It is 0 for a blocking call, which has no request.
  MPI_Request request_{};
  Word64 c_words_[kMostWords + 2] = {};
};

}  // namespace crossrail::mpi
