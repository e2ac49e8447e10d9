// The functions of the driver that are called for streams. The driver is in the process, since NCCL is.
#pragma once

#include "nccl/api.h"

namespace crossrail::nccl {

struct Driver {
  int (*create_event)(void** event, unsigned flags) = nullptr;
  int (*destroy_event)(void* event) = nullptr;
  int (*record)(void* event, Stream stream) = nullptr;
  int (*wait)(Stream stream, void* event, unsigned flags) = nullptr;
  bool orders_streams = false;  // All of these are there.
};
const Driver& driver();

}  // namespace crossrail::nccl
