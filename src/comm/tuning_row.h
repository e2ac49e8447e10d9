// TuningRow is one line of a tuning table: "for such a communicator and Shape, use this algorithm".
#pragma once

#include <cstdint>
#include <string>

#include "comm/parameter.h"
#include "comm/range.h"

namespace crossrail {

struct TuningRow {
  std::string collective;  // It is, for example, alltoall.
  std::string memory;      // It is host, device, or stream, which means device memory in a stream's order.
  MpiRange mpi;
  Range nodes;
  Range ranks_per_node;  // They are the ranks of the largest node.
  Range ranks_per_device;
  std::uint64_t up_to_bytes = ~std::uint64_t{0};  // It is the largest block size; "*" means any.
  std::string algorithm;  // It is a row of the catalogue, or native.
  Parameters parameters;  // They are those that are given, such as "packet=512 chunk=4096".
  std::string origin;     // It is, for example, "default.csv:12".
};

}  // namespace crossrail
