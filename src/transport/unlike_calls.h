// These functions describe two ranks that have begun one call with different Shapes.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace crossrail {

struct BegunBy {
  int rank;
  std::uint64_t block_bytes;
};

inline Status unlike_calls(std::uint64_t call, const BegunBy& one, const BegunBy& other) {
  const unsigned long long number = call, bytes = one.block_bytes, its_bytes = other.block_bytes;
  if (bytes == its_bytes) {
    return failure(Code::mismatch,
                   "call %llu: rank %d and rank %d have blocks of %llu bytes, but other collectives, operations or types, or only one is in place",
                   number, one.rank, other.rank, bytes);
  }
  return failure(Code::mismatch, "call %llu: rank %d has blocks of %llu bytes, rank %d of %llu (or another collective or operation)",
                 number, one.rank, bytes, other.rank, its_bytes);
}

// Only MPI knows what the program's operations do, so MPI gets those calls.
inline Status operation_on_one(std::uint64_t call, int its_rank, int other) {
  return failure(Code::mismatch, "call %llu: rank %d reduces with an operation of the program's own, rank %d is in another call or uses one of MPI's",
                 static_cast<unsigned long long>(call), its_rank, other);
}

}  // namespace crossrail
