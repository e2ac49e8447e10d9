// A device that is made of host memory, with a module (crossrail/device_module.h) of its own: calls on
// device memory run as they are where there is no device, with ranks as threads or as processes. Work is
// done by a thread of every queue, some time after it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crossrail/device_module.h"

extern "C" {

// What goes wrong, and what memory is like. Of the whole process; set before anything is called.
struct host_device_options {
  int refuse_maps;     // of the memory that a program has: peers cannot map it
  int refuse_all_maps; // of any memory
  int devices;         // that all queues share, in turn; 0: each has one of its own
  size_t most_bytes;   // of device memory; 0: no limit
  unsigned delay_us;   // most that a piece of work is late
  int refuse_queues;   // so many times a queue cannot be opened
  int generation;      // of the context: another one after every reset
  int break_lines;     // packets of 128 bytes may arrive in pieces
};
void host_device_set(const host_device_options* options);

// CHUNKS: two in a row; what lies in the first is described as other memory than both.
enum host_device_kind { HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_MANAGED, HOST_DEVICE_CHUNKS };
// A program's device memory. Null if there is none left.
void* host_device_alloc(size_t bytes, enum host_device_kind kind);
void host_device_free(void* memory);
// Where the processor finds what lies at `memory`: device memory itself cannot be touched.
void* host_device_touchable(const void* memory);
// Pieces of memory that are allocated or mapped just now; times that some memory of another was mapped.
int host_device_pieces(void);
int host_device_maps(void);
// Whether a queue may be opened now.
int host_device_queue_allowed(void);

// Streams of a program; null is its default one, of this thread's device.
void* host_device_open_stream(void);
void host_device_close_stream(void* stream);  // does first what it was asked
void host_device_wait(void* stream);
void host_device_copy(void* stream, const crossrail_block* block);

const crossrail_device_module* host_device_module(void);
}
