// These are the functions of CUDA's driver that crossrail calls by their names, for streams of the device that is made of host memory. They return 0.

#include <memory>
#include <mutex>

#include "virtual_world/host_graphs.h"
#include "virtual_world/host_queue.h"

using namespace crossrail::virtual_world;

namespace {

Event& event_of(void* event) { return **static_cast<std::shared_ptr<Event>*>(event); }

}  // namespace

extern "C" {

int cuEventCreate(void** event, unsigned) {
  *event = new std::shared_ptr<Event>(std::make_shared<Event>());
  return 0;
}

int cuEventDestroy_v2(void* event) {
  event_of(event).gone = true;
  delete static_cast<std::shared_ptr<Event>*>(event);
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  if (record_captured(stream, event_of(event))) return 0;
  const auto gate = event_of(event).renew();
  post(stream, [gate] { open(*gate); });
  return 0;
}

int cuEventQuery(void* event) {
  constexpr int kNotReady = 600;
  const std::shared_ptr<Gate> gate = event_of(event).gate();
  if (gate == nullptr) return 0;
  const std::lock_guard lock(gate->mutex);
  return gate->open ? 0 : kNotReady;
}

int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  constexpr unsigned kAtEveryLaunch = 1;
  if (flags == kAtEveryLaunch) return wait_at_launches(stream, *static_cast<std::shared_ptr<Event>*>(event));
  if (wait_captured(stream, event_of(event))) return 0;
  const std::shared_ptr<Gate> gate = event_of(event).gate();
  if (gate != nullptr) post(stream, [gate] { await(*gate); });
  return 0;
}

int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  post(stream, [function, data] { function(data); });
  return 0;
}
}
