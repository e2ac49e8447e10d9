// TuningRow is one line of a tuning table: "for such a communicator and Shape, use this algorithm".
#pragma once

#include <cstdint>
#include <string>

#include "comm/parameter.h"
#include "comm/range.h"

namespace crossrail {

struct TuningRow {
  std::string collective;  // alltoall
  std::string memory;      // host, device, or stream: device memory in a stream's order
  MpiRange mpi;
  Range nodes;
  Range ranks_per_node;  // ranks of the largest node
  Range ranks_per_device;
  std::uint64_t up_to_bytes = ~std::uint64_t{0};  // largest block size; "*" is any
  std::string algorithm;  // a row of the catalogue, or native
  Parameters parameters;  // the parameters that are given: "packet=512 chunk=4096"
  std::string origin;     // "default.csv:12"
};

}  // namespace crossrail
