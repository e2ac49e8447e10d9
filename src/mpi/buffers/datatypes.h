// Datatypes as crossrail needs them: how many bytes, and whether those bytes lie in a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct TypeFacts {
  std::uint64_t bytes = 0;  // of data in one element, gaps not counted
  bool contiguous = false;  // elements one after the other are those bytes in that order, no gaps
  bool predefined = false;
  bool usable = false;  // not so: the MPI library has refused the type and has raised its error
};

// Facts of a datatype, remembered with it. Returns the MPI library's code; it may be MPI_SUCCESS
// for a type that is not usable (MPICH 5, after a user's error handler has run).
int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts);

// Whether data lie at the address itself. Then a null buffer is right only for no data; types that hold absolute addresses
// are used with MPI_BOTTOM, which is null.
bool begins_at_its_address(MPI_Datatype type, const TypeFacts& facts);

// Of data in one element, of any type that is not null.
std::uint64_t size_of(MPI_Datatype type);

// How a type was made; and whether that is no way to make one, but a type of MPI's own.
int combiner_of(MPI_Datatype type);
bool is_predefined(int combiner);

// A key for an attribute of datatypes that is forgotten by `forget` and not copied to duplicates.
using ForgetAttribute = int (*)(MPI_Datatype, int, void*, void*);
int make_type_keyval(ForgetAttribute forget);

// `count` elements at a user's address to a row of bytes, and back. Errors: system.
struct TypedMemory {
  void* address;
  std::uint64_t count;
  MPI_Datatype type;
  std::uint64_t element_bytes;  // TypeFacts::bytes
  MPI_Comm comm;
};
Status pack(const TypedMemory& from, std::byte* row);
Status unpack(const std::byte* row, const TypedMemory& to);

}  // namespace crossrail::mpi
