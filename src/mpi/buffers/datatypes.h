// Datatypes as crossrail needs them: how many bytes, and whether those bytes lie in a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "comm/buffers.h"
#include "comm/layout.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct TypeFacts {
  std::uint64_t bytes = 0;  // of data in one element, gaps not counted
  std::ptrdiff_t lower = 0;  // of a row: where its first byte lies
  bool in_a_row = false;    // one element is those bytes in that order, no gaps
  bool contiguous = false;  // elements one after the other are
  bool predefined = false;
  bool usable = false;  // not so: the MPI library has refused the type and has raised its error
  const Layout* layout = nullptr;  // of types that are not contiguous, as long as the type lives; null where it is not known
  bool in_a_row_of(std::uint64_t count) const { return contiguous || (in_a_row && count == 1); }
};

// A call of the program's begins on this thread, or one that will be started many times.
enum class CallRuns : std::uint8_t { once, often };
// The number of this thread's call among all of the process (0: it has made none), and how it runs.
struct ProgramCall {
  std::uint64_t number = 0;
  CallRuns runs = CallRuns::once;
};
extern constinit thread_local ProgramCall this_call;
std::uint64_t first_number_of_thread();
inline void begin_call(CallRuns runs) {
  this_call.number = this_call.number == 0 ? first_number_of_thread() : this_call.number + 1;
  this_call.runs = runs;
}

// Facts of a datatype, remembered with it. Returns the MPI library's code; it may be MPI_SUCCESS
// for a type that is not usable (MPICH 5, after a user's error handler has run).
// The layout of a type that costs much to take apart is not known in the first call that uses it, unless that call runs often.
int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts);
// The same with the layout, whatever it costs.
int describe_whole(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts);

// Where the bytes of a type that has been described lie, for devices that pack and unpack by themselves. As long as the type
// lives. Null where it is not known, or the type falls into more than a million segments: such data go through host memory.
const DeviceLayout* device_layout_of(MPI_Datatype type);

// Whether data lie at the address itself. Then a null buffer is right only for no data; types that hold absolute addresses
// are used with MPI_BOTTOM, which is null.
bool begins_at_its_address(MPI_Datatype type, const TypeFacts& facts);

// A type of ours with the same data, which stays where `type` is freed; what is known of the one is of the other. Not a duplicate, for which
// the program's callbacks would be called to copy its attributes, and might refuse. False where MPI makes none.
bool make_alike(MPI_Datatype type, MPI_Datatype& alike);

// Of data in one element, of any type that is not null.
std::uint64_t size_of(MPI_Datatype type);

// `count` elements at a user's address to a row of bytes, and back. Errors: system.
struct TypedMemory {
  void* address;
  std::uint64_t count;
  MPI_Datatype type;
  std::uint64_t element_bytes;  // TypeFacts::bytes
  const Layout* layout;         // TypeFacts::layout; where it is null MPI packs
  MPI_Comm comm;
};
Status pack(const TypedMemory& from, std::byte* row);
Status unpack(const std::byte* row, const TypedMemory& to);

}  // namespace crossrail::mpi
