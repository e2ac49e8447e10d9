// These are the functions of CUDA's driver that crossrail calls by their names, for streams of the device that is made of host memory. They return 0.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "virtual_world/host_queue.h"

namespace crossrail::virtual_world {
namespace {

// It is open once its stream has come to where it was recorded.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
};

struct Event {
  std::shared_ptr<Gate> last;  // It is null until the event has been recorded.
};

void open(Gate& gate) {
  const std::lock_guard lock(gate.mutex);
  gate.open = true;
  gate.opened.notify_all();
}

void await(Gate& gate) {
  std::unique_lock lock(gate.mutex);
  gate.opened.wait(lock, [&] { return gate.open; });
}

}  // namespace
}  // namespace crossrail::virtual_world

using namespace crossrail::virtual_world;

extern "C" {

int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return 0;
}

int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  const auto gate = std::make_shared<Gate>();
  static_cast<Event*>(event)->last = gate;
  post(stream, [gate] { open(*gate); });
  return 0;
}

int cuEventQuery(void* event) {
  constexpr int kNotReady = 600;
  const std::shared_ptr<Gate> gate = static_cast<Event*>(event)->last;
  if (gate == nullptr) return 0;
  const std::lock_guard lock(gate->mutex);
  return gate->open ? 0 : kNotReady;
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  const std::shared_ptr<Gate> gate = static_cast<Event*>(event)->last;
  if (gate != nullptr) post(stream, [gate] { await(*gate); });
  return 0;
}

int cuStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}

int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  post(stream, [function, data] { function(data); });
  return 0;
}
}
