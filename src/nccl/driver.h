// The functions of the driver by which calls take their turns. The driver is in the process, since NCCL is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/api.h"

namespace crossrail::nccl {

struct Driver {
  int (*create_event)(void** event, unsigned flags) = nullptr;
  int (*destroy_event)(void* event) = nullptr;
  int (*record)(void* event, Stream stream) = nullptr;
  int (*wait)(Stream stream, void* event, unsigned flags) = nullptr;
  int (*query)(void* event) = nullptr;
  int (*capturing)(Stream stream, int* status) = nullptr;
  bool orders_streams = false;  // All of these are there.

  int (*capture_mode)(int* mode) = nullptr;
  int (*capture_info)(Stream stream, int* status, std::uint64_t* id, void** graph, void* const** nodes, std::size_t* count) = nullptr;
  int (*add_to_stream)(Stream stream, void* const* nodes, std::size_t count, unsigned flags) = nullptr;
  int (*add_record_node)(void** node, void* graph, void* const* after, std::size_t count, void* event) = nullptr;
  int (*add_edges)(void* graph, void* const* from, void* const* to, std::size_t count) = nullptr;
  int (*remove_edges)(void* graph, void* const* from, void* const* to, std::size_t count) = nullptr;
  int (*before)(void* node, void** nodes, std::size_t* count) = nullptr;
  int (*create_object)(void** object, void* data, void (*gone)(void* data), unsigned references, unsigned flags) = nullptr;
  int (*release_object)(void* object, unsigned references) = nullptr;
  int (*retain_object)(void* graph, void* object, unsigned references, unsigned flags) = nullptr;
  bool orders_captures = false;  // These, too.
};
const Driver& driver();

}  // namespace crossrail::nccl
