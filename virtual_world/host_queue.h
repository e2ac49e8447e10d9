// The queues and streams of host_device.h are threads that do what they are asked, one thing after the other.
#pragma once

#include <cstdint>
#include <functional>

#include "crossrail/device_module.h"
#include "virtual_world/host_device.h"

namespace crossrail::virtual_world {

const host_device_options& device_options();

// The stream (null is this thread's default one) does it when it gets there.
void post(void* stream, std::function<void()> work);
// From now on `to` gets what the stream is asked, and the stream does not do it. An empty one ends that.
using Redirection = std::function<void(std::function<void()> work)>;
void redirect(void* stream, Redirection to);

// These are the module's functions.
const char* open_queue(const crossrail_memory* near, int timed, crossrail_queue** queue, crossrail_queue_facts* facts);
void close_queue(crossrail_queue* queue);
const char* open_pages(crossrail_queue* queue, void* pages, size_t bytes, void** mapped);
void close_pages(crossrail_queue* queue, void* pages);
const char* supports(crossrail_queue* queue, const crossrail_work* work, size_t* buffer_bytes);
const char* enqueue(crossrail_queue* queue, const crossrail_work* work);
const char* sync(crossrail_queue* queue, crossrail_sync how);
int times(crossrail_queue* queue, std::uint64_t piece, crossrail_times* times);

}  // namespace crossrail::virtual_world
