/* This is memory of a device for one side of a call. Its driver is looked up at run time: CUDA's, or that of the device which is made of host memory
 * (virtual_world/host_device.h). */
#pragma once

#include <stddef.h>

/* The kinds are an allocation; a part of one that other sides have parts of, too; what other processes cannot map; managed memory; several chunks in
 * a row, of which each is mapped on its own. */
enum { kWholeAllocation, kPartOfAllocation, kUnshareable, kManaged, kChunks };

typedef struct {
  unsigned char* at; /* The processor must not touch it. */
  void* base;        /* It is the allocation's. */
  size_t bytes;      /* It is the allocation's. */
  int kind;
} DeviceMemory;

typedef struct {
  void (*take)(DeviceMemory* memory, size_t bytes);
  void (*give_back)(DeviceMemory* memory);
  void (*copy)(void* to, const void* from, size_t bytes);
  /* These are streams of the program; null is the default one. */
  void* (*open_stream)(void);
  void (*wait)(void* stream);
  /* What a stream is asked from here on stands in the graph that `end_capture` gives. Both are null where a driver has no graphs. */
  void (*begin_capture)(void* stream);
  void* (*end_capture)(void* stream);
  void (*launch)(void* graph, void* stream);
  void (*drop_graph)(void* graph);
  /* It says how its pretended device behaves from now on: by how many microseconds at most work is late, and whether memory of the program's cannot
   * be mapped. */
  void (*behave)(int delay_us, int refuses_maps);
} Driver;

/* Returns null unless the library is CUDA's driver. */
const Driver* cuda_driver(void* library, int rank);
/* Opens the driver of this path. Ranks have the devices of CUDA's in turn. */
void open_driver(const char* path, int rank);
/* Returns null where there is none. */
const Driver* open_driver_of_process(void);

DeviceMemory take_device_memory(int kind, size_t bytes);
void give_device_memory_back(DeviceMemory* memory);
