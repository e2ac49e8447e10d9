// A datatype is reduced here to what crossrail needs: how many bytes it has, and whether those bytes are contiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "comm/buffers.h"
#include "comm/layout.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct TypeFacts {
  std::uint64_t bytes = 0;  // It counts the data of one element without gaps.
  std::ptrdiff_t lower = 0;  // If the bytes are in a row, the first one lies here.
  bool in_a_row = false;    // One element consists of those bytes in that order, without gaps.
  bool contiguous = false;  // The same holds for several elements in sequence.
  bool predefined = false;
  bool usable = false;  // If it is false, MPI has refused the type and has raised its error.
  const Layout* layout = nullptr;  // Types that are not contiguous have one, valid as long as the type lives; it is null if it is not known.
  bool in_a_row_of(std::uint64_t count) const { return contiguous || (in_a_row && count == 1); }
};

// The program begins a call on this thread; `often` means that it will be started many times.
enum class CallRuns : std::uint8_t { once, often };
// It holds the call's number within the process (0 if this thread has made none) and how it runs.
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

// Finds the facts of a datatype, which are remembered with it. Returns MPI's code, which may be MPI_SUCCESS
// for a type that is not usable (MPICH 5, after a user's error handler has run). If a type is expensive to
// take apart, its layout is unknown in the first call that uses it, unless that call runs often.
int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts);
// Does the same and finds the layout at any cost.
int describe_whole(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts);

// Returns where the bytes of a type that has been described lie, for devices that pack and unpack by themselves. The result lives as long as the
// type. It is null if it is not known or the type falls into more than a million segments; such data go through host memory.
const DeviceLayout* device_layout_of(MPI_Datatype type);

// Returns whether the data begin at the address itself. Then a null buffer is valid only
// without data. Types with absolute addresses are used with MPI_BOTTOM, which is null.
bool begins_at_its_address(MPI_Datatype type, const TypeFacts& facts);

// Makes a type of ours with the same data and the same facts, which stays when `type` is freed. It is not a duplicate, because MPI would call the
// program's callbacks to copy attributes, and they might refuse. Returns false if MPI cannot make one.
bool make_alike(MPI_Datatype type, MPI_Datatype& alike);

// Returns the bytes of data in one element of any type that is not null.
std::uint64_t size_of(MPI_Datatype type);

}  // namespace crossrail::mpi
