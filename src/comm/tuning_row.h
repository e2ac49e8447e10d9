// TuningRow: one line of a tuning table. "For such a communicator and Shape, this algorithm."
#pragma once

#include <cstdint>
#include <string>

#include "comm/plan.h"

namespace crossrail {

struct TuningRow {
  std::string collective;      // alltoall
  std::string memory;          // host
  std::string nodes;           // "1", "2-", "2-8", "*"
  std::string ranks_per_node;  // of the largest node, written like nodes
  std::uint64_t up_to_bytes = ~std::uint64_t{0};  // of a block; "*" is any
  std::string algorithm;       // a row of the catalogue, or native
  Parameters parameters;       // "packet=512 chunk=4096"
  std::string origin;          // "default.csv:12"
};

}  // namespace crossrail
