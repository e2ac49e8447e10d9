// This device is made of host memory, with a module (crossrail/device_module.h) of its own. Calls on device memory run as they are where
// there is no device, with ranks as threads or as processes. A thread of every queue does the work, some time after it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crossrail/device_module.h"

extern "C" {

// These say what goes wrong, and what memory is like. They hold for the whole process and are set before anything is called.
struct host_device_options {
  int refuse_maps;     // Peers cannot map the memory that a program has.
  int refuse_all_maps; // Peers cannot map any memory.
  int devices;         // All queues share this many, in turn. 0 means that each has one of its own.
  size_t most_bytes;   // It is the most device memory. 0 means that there is no limit.
  unsigned delay_us;   // A piece of work is late by at most this.
  int refuse_queues;   // Opening a queue fails this many times.
  int generation;      // It is that of the context, another one after every reset.
  int concurrent;      // Ranks that share a device may wait for each other in kernels.
  int break_lines;     // Packets of 128 bytes may arrive in pieces.
};
void host_device_set(const host_device_options* options);

// CHUNKS are two in a row. What lies in the first is described as other memory than both.
enum host_device_kind { HOST_DEVICE_PLAIN, HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_MANAGED, HOST_DEVICE_CHUNKS };
// It is a program's device memory, or null if there is none left.
void* host_device_alloc(size_t bytes, enum host_device_kind kind);
void host_device_free(void* memory);
// Returns where the processor finds what lies at `memory`. Device memory itself cannot be touched.
void* host_device_touchable(const void* memory);
// The first counts pieces of memory that are allocated or mapped just now. The second counts how often some memory of another was mapped.
int host_device_pieces(void);
int host_device_maps(void);
// Returns whether a queue may be opened now.
int host_device_queue_allowed(void);

// These are streams of a program. Null is its default one, of this thread's device.
void* host_device_open_stream(void);
void host_device_close_stream(void* stream);  // It first does what it was asked.
void host_device_wait(void* stream);
void host_device_copy(void* stream, const crossrail_block* block);

// What a stream is asked between these two is captured, and not done. The second returns a graph that can be launched, or null if the capture was wrong.
void host_device_begin_capture(void* stream);
void* host_device_end_capture(void* stream);
// What `stream` is asked from now on comes after what `other` has been asked, and belongs to the same capture.
void host_device_follow(void* stream, void* other);
void host_device_launch(void* graph, void* stream);
void host_device_close_graph(void* graph);

const crossrail_device_module* host_device_module(void);
}
