// This is an MPI library without processes, for tests of src/mpi as units. Its functions find these types, attributes and messages. It takes the
// place of src/mpi/library/library.cpp, which looks for the MPI library of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi::fake {

// A run has bytes of one element. All runs together, in the order in which MPI sends them, are its type map.
struct Run {
  std::ptrdiff_t offset;
  std::size_t bytes;
  bool operator==(const Run&) const = default;
};

struct Type {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  std::vector<Run> map;
  std::ptrdiff_t lower = 0, extent = 0;
  std::map<int, void*> attributes;
};

// Each constructor lays the bytes out as the standard says, with nothing of flatten.cpp in it.
MPI_Datatype contiguous(int count, MPI_Datatype of);
MPI_Datatype vector(int count, int length, int stride, MPI_Datatype of);
MPI_Datatype hvector(int count, int length, MPI_Aint stride, MPI_Datatype of);
MPI_Datatype indexed(const std::vector<int>& lengths, const std::vector<int>& places, MPI_Datatype of);
MPI_Datatype hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places, MPI_Datatype of);
MPI_Datatype indexed_block(int length, const std::vector<int>& places, MPI_Datatype of);
MPI_Datatype structure(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places, const std::vector<MPI_Datatype>& types);
MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower, MPI_Aint extent);
MPI_Datatype subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes, const std::vector<int>& starts, int order, MPI_Datatype of);
MPI_Datatype darray(MPI_Datatype of);  // It is not taken apart; only its combiner is right.

Type& type(MPI_Datatype handle);
// Gives the type a handle.
MPI_Datatype keep(std::unique_ptr<Type> made);
// Returns the number of handles of derived types that have been given out by MPI_Type_get_contents and are not freed.
int contents_not_freed();
// MPI_Type_get_contents fails for this type from now on.
void refuse_contents(MPI_Datatype handle);

// Returns a communicator of several ranks, all in this process. Each rank has a handle of its own.
MPI_Comm communicator_of(int rank);
// Returns the number of messages sent and not received, on all communicators.
std::size_t messages_under_way();
// Returns a handle that no request has had before.
MPI_Request next_request();
// Sets the largest tag. With 0 the library does not say.
void set_tag_limit(int limit);
void forget_all();

}  // namespace crossrail::mpi::fake
