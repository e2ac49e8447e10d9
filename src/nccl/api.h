// This is what crossrail knows of NCCL's C interface (nccl.h, versions 2.18 to 2.32), so that it is built where NCCL is not. Handles are opaque, and
// what crossrail only passes on has no type here.
#pragma once

#include <cstddef>

namespace crossrail::nccl {

struct OpaqueCommunicator;
using Comm = OpaqueCommunicator*;
using Stream = void*;
struct UniqueId {
  char bytes[128];
};

// This is the beginning of ncclConfig_t, which has not changed since 2.18. A value that the program has not set is INT_MIN.
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking, cluster_size, least_ctas, most_ctas;
};

enum class Result : int { success = 0, unhandled_device_error, system_error, internal_error, invalid_argument, invalid_usage, remote_error, in_progress };
enum class Type : int { int8 = 0, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, float8_e4m3, float8_e5m2 };
enum class Operation : int { sum = 0, product, maximum, minimum, average };  // A program's own operations follow.

// A rank that passes this colour to a split gets no communicator.
inline constexpr int kNoColour = -1;

}  // namespace crossrail::nccl
