#include "nccl/stream_turns.h"

#include <dlfcn.h>

namespace crossrail::nccl {
namespace {

// These are functions of the driver, which is in the process, since NCCL is.
struct Events {
  int (*create)(void** event, unsigned flags) = nullptr;
  int (*destroy)(void* event) = nullptr;
  int (*record)(void* event, Stream stream) = nullptr;
  int (*wait)(Stream stream, void* event, unsigned flags) = nullptr;
  int (*query)(void* event) = nullptr;
  int (*capturing)(Stream stream, int* status) = nullptr;
  bool complete = false;
};

template <class Function>
bool find(void* driver, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(driver, name));
  return function != nullptr;
}

Events find_events() {
  Events events;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return events;
  const bool made = find(driver, "cuEventCreate", events.create) && find(driver, "cuEventDestroy_v2", events.destroy);
  const bool followed = find(driver, "cuEventRecord", events.record) && find(driver, "cuEventQuery", events.query);
  events.complete = made && followed && find(driver, "cuStreamWaitEvent", events.wait) && find(driver, "cuStreamIsCapturing", events.capturing);
  return events;
}

const Events& events() {
  static const Events known = find_events();
  return known;
}

}  // namespace

// What cannot be asked counts as captured.
bool is_captured(Stream stream) {
  int status = 0;
  return !events().complete || events().capturing(stream, &status) != 0 || status != 0;
}

bool StreamTurns::begin(Stream stream) { return !recorded_ || events().wait(stream, event_, 0) == 0; }

// The stream may not exist any more when the next call comes, so the event is recorded now.
void StreamTurns::end(Stream stream) {
  constexpr unsigned kWithoutTimes = 2;
  if (event_ == nullptr && events().create(&event_, kWithoutTimes) != 0) event_ = nullptr;
  if (event_ == nullptr || events().record(event_, stream) != 0) {
    unknown_ = true;
    return;
  }
  recorded_ = true;
}

bool StreamTurns::is_over() const { return !unknown_ && (!recorded_ || events().query(event_) == 0); }

void StreamTurns::close() {
  if (event_ != nullptr) (void)events().destroy(event_);
  event_ = nullptr;
  recorded_ = false;
}

}  // namespace crossrail::nccl
