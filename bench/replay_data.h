// Communicators, datatypes, operations and buffers of recorded calls, made again.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "replay_program.h"

namespace bench::replay {

// One side of a call, as MPI takes it; positions count elements, of alltoallw bytes.
struct Side {
  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
  // The type of a rank for which there is something; alltoallv has one for all.
  MPI_Datatype one_type() const;
  std::size_t bytes = 0;   // of the buffer
  std::size_t before = 0;  // of it, before the address that MPI gets
};

// A recorded call, ready to be made.
struct Prepared {
  Side sent, received;
  MPI_Op op = MPI_OP_NULL;
};

// Memory for one call under way.
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
  // Known values for a call, other ones on every rank unless they are reduced; also in what it receives, which is sent where it is in place.
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
  std::uint64_t rank_ = 0;  // of the world
};

// Offset and bytes of each piece of a type, as the datatype that stands for it has them.
std::vector<std::pair<MPI_Aint, int>> pieces_in_order(const Type& type);

// Of all recorded ones, in the same order on all ranks; those of one rank only, too.
std::vector<MPI_Comm> make_comms(const Program& program);

}  // namespace bench::replay
