#include "place.h"

#include <memory>
#include <vector>

namespace gpu {
namespace {

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

Context primary_context(int device) {
  static auto& contexts = *new std::vector<Context>;
  const std::lock_guard lock(guard());
  if (contexts.size() <= static_cast<size_t>(device)) contexts.resize(device + 1);
  Context& context = contexts[device];
  if (!primary_is_active(device)) return nullptr;
  if (context == nullptr && driver().primary_context(&context, device) != kSuccess) context = nullptr;
  return context;
}

const char* open_place(Context context, Place& place) {
  place.context = context;
  place.generation = generation_of(context);
  const Uncaptured uncaptured;
  const Current current(context);
  GPU_TRY(current.result());
  GPU_TRY(driver().context_device(&place.device));
  GPU_TRY(make_stream(&place.stream, 0));
  place.multiprocessors = multiprocessors_of(place.device);
  place.identity = identity_of(place.device);
  place.writes_values = writes_values(place.device);
  place.whole_lines = whole_lines(place.device);
  return nullptr;
}

constexpr const char* kKernelNames[kKernelCount] = {"exchange_few", "exchange_many", "packets_few",
                                                    "packets_many", "barrier_few",      "barrier_many",
                                                    "move",         "persistent",      "announce",
                                                    "combine_few",  "combine_many",    "combine_packets",
                                                    "meet_many",    "counted_many",
                                                    "exchange_between", "combine_between", "lines", "combine_lines", "counted_between",
                                                    "exchange_chunks", "combine_chunks", "messages", "keep_list"};

const char* find_kernels(Place& place) {
  Image image{};
  GPU_TRY(driver().load_image(&image, kernel_image()));
  for (int i = 0; i < kKernelCount; ++i) {
    GPU_TRY(driver().find_function(&place.kernels[i], image, kKernelNames[i]));
    // It is loaded now and not at the first launch, which would wait for kernels that stay.
    (void)driver().load_function(place.kernels[i]);
  }
  return nullptr;
}

}  // namespace

uint64_t generation_of(Context context) {
  unsigned long long id = 0;
  return context != nullptr && driver().context_id(context, &id) == kSuccess ? id : 0;
}

Context context_on(int device) {
  if (device < 0) return nullptr;
  const Context primary = primary_context(device);
  return primary != nullptr ? primary : own_context(device);
}

At::At(const Place& place) : gone_(generation_of(place.context) != place.generation), current_(gone_ ? nullptr : place.context) {}

Place* place_of(const crossrail_memory& memory, const char** wrong) {
  static auto& places = *new std::vector<std::unique_ptr<Place>>;  // They live until the last of the functions that the process calls at its end.
  Context context = static_cast<Context>(memory.context);
  if (context == nullptr) context = context_on(memory.device);
  if (context == nullptr) {
    *wrong = "memory of no device, or a device without a context";
    return nullptr;
  }
  const uint64_t id = generation_of(context);
  const std::lock_guard lock(guard());
  for (const auto& place : places) {
    if (place->context == context && place->generation == id) return place.get();
  }
  auto opened = std::make_unique<Place>();
  *wrong = open_place(context, *opened);
  if (*wrong != nullptr) return nullptr;
  places.push_back(std::move(opened));
  return places.back().get();
}

const char* load_kernels(Place& place) {
  const std::lock_guard lock(guard());
  if (place.kernels_tried) return place.kernels_wrong;
  place.kernels_tried = true;
  const Uncaptured uncaptured;
  place.marked = make_marks(place.marks);
  if (kernel_image() == nullptr) {
    place.kernels_wrong = "this module was built without kernels";
  } else {
    place.kernels_wrong = find_kernels(place);
  }
  return place.kernels_wrong;
}

}  // namespace gpu
