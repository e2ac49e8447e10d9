// These are the communicators, datatypes, operations and buffers of recorded calls, made again.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "replay_program.h"

namespace bench::replay {

// A Side is one side of a call, as MPI takes it. Positions count elements, or bytes for alltoallw.
struct Side {
  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
  // Returns the type of a rank that has data; alltoallv has one type for all ranks.
  MPI_Datatype one_type() const;
  std::size_t bytes = 0;   // It is the size of the buffer.
  std::size_t before = 0;  // So many of the bytes lie before the address that MPI gets.
};

// It is a recorded call that is ready to be made.
struct Prepared {
  Side sent, received;
  MPI_Op op = MPI_OP_NULL;
};

// It is memory for one call under way.
struct CallBuffers {
  std::vector<std::byte> sent, received;
};

class Data {
 public:
  explicit Data(const Program& program);
  Data(const Data&) = delete;
  ~Data();
  const Prepared& prepared(std::size_t event) const { return prepared_[event]; }
  CallBuffers buffers(std::size_t event) const;
  // Fills in known values for a call. They differ on every rank unless they are reduced.
  // It also fills what the call receives, which is sent if the call is in place.
  void fill(std::size_t event, CallBuffers& buffers, std::uint64_t seed) const;
  void* sent(std::size_t event, CallBuffers& buffers) const;
  void* received(std::size_t event, CallBuffers& buffers) const;

 private:
  Side side(const Event& event, const std::vector<Row>& rows) const;
  void prepare_reduction(const Event& event, Prepared& prepared) const;
  const Program& program_;
  std::vector<MPI_Datatype> types_;
  std::vector<Prepared> prepared_;
  MPI_Op user_op_ = MPI_OP_NULL;
  std::uint64_t rank_ = 0;  // It is the rank in the world.
};

// Returns the offset and bytes of each piece of a type, in the order of the datatype that stands for it.
std::vector<std::pair<MPI_Aint, int>> pieces_in_order(const Type& type);

// Makes all recorded communicators, including those of a single rank, in the same order on all ranks.
std::vector<MPI_Comm> make_comms(const Program& program);

}  // namespace bench::replay
