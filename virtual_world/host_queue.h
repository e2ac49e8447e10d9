// Queues and streams of host_device.h: threads that do what they are asked, one thing after the other.
#pragma once

#include <cstdint>

#include "crossrail/device_module.h"
#include "virtual_world/host_device.h"

namespace crossrail::virtual_world {

const host_device_options& device_options();

// The module's functions.
std::uint64_t identity(crossrail_queue* queue);
std::uint64_t place(crossrail_queue* queue);
const char* open_queue(const crossrail_memory* near, crossrail_queue** queue);
void close_queue(crossrail_queue* queue);
const char* open_pages(crossrail_queue* queue, void* pages, size_t bytes, void** mapped);
void close_pages(crossrail_queue* queue, void* pages);
const char* exchange(crossrail_queue* queue, const crossrail_exchange* asked);
const char* packets(crossrail_queue* queue, const crossrail_packets* asked);
const char* combine(crossrail_queue* queue, const crossrail_combination* asked);
const char* combine_packets(crossrail_queue* queue, const crossrail_packets* asked, const crossrail_reduction* reduction);
const char* barrier(crossrail_queue* queue, const crossrail_barrier* asked);
const char* exchange_counted(crossrail_queue* queue, const crossrail_counted_exchange* asked);
const char* move(crossrail_queue* queue, const crossrail_movements* asked);
const char* look(crossrail_queue* queue);
const char* drain(crossrail_queue* queue);
const char* open_times(crossrail_queue* queue);
const char* begin_times(crossrail_queue* queue, std::uint64_t* piece);
const char* end_times(crossrail_queue* queue);
int times(crossrail_queue* queue, std::uint64_t piece, crossrail_times* times);

}  // namespace crossrail::virtual_world
