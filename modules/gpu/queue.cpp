#include "queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace gpu {
namespace {

// Pages registered with the driver, which takes them once in a process.
struct Registered {
  size_t bytes = 0;
  int users = 0;
  bool ours = false;  // else the program had registered them
};
struct Registry {
  std::mutex mutex;
  std::map<void*, Registered> all;
};
Registry& registry() {
  static Registry one;
  return one;
}

const char* take_pages(void* pages, size_t bytes) {
  const std::lock_guard lock(registry().mutex);
  Registered& registered = registry().all[pages];
  if (registered.users == 0) {
    const Result result = register_mapped(pages, bytes);
    if (result != kSuccess && result != kAlreadyRegistered) {
      registry().all.erase(pages);
      return text(result);
    }
    registered = {bytes, 0, result == kSuccess};
  }
  if (bytes > registered.bytes) return "flags in pages that are registered in part only";
  ++registered.users;
  return nullptr;
}

void give_pages(void* pages) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().all.find(pages);
  if (found == registry().all.end() || --found->second.users > 0) return;
  if (found->second.ours) (void)driver().unregister_host(pages);
  registry().all.erase(found);
}

Way way_of(const char* wanted) {
  if (wanted != nullptr && std::strcmp(wanted, "kernel") == 0) return Way::kernel;
  if (wanted != nullptr && std::strcmp(wanted, "update") == 0) return Way::update;
  return Way::graph;
}

const char* open_parts(crossrail_queue& queue) {
  const Current current(queue.place->context);
  GPU_TRY(current.result());
  GPU_TRY(make_stream(&queue.stream, high_priority()));
  GPU_TRY(make_stream(&queue.beside, 0));
  GPU_TRY(make_event(&queue.fork));
  GPU_TRY(make_event(&queue.join));
  Address counters{};
  GPU_TRY(driver().allocate(&counters, sizeof(Counters)));
  queue.counters = static_cast<Counters*>(pointer(counters));
  GPU_TRY(driver().set_bytes(counters, 0, sizeof(Counters), queue.stream));
  GPU_TRY(driver().await_stream(queue.stream));
  queue.last_known = true;
  (void)load_kernels(*queue.place);  // their lack is told where they are needed
  return nullptr;
}

const char* state_of(Stream stream) {
  if (stream == nullptr) return nullptr;
  const Result state = driver().query_stream(stream);
  return state == kNotReady ? nullptr : text(state);
}

}  // namespace

const char* open_queue(const crossrail_memory* near, crossrail_queue** queue) {
  const char* wrong = nullptr;
  auto opened = std::make_unique<crossrail_queue>();
  opened->place = place_of(*near, &wrong);
  if (opened->place == nullptr) return wrong;
  opened->way = way_of(std::getenv("CROSSRAIL_LAUNCH"));  // for tests and measurements of the module itself
  const Uncaptured uncaptured;
  wrong = open_parts(*opened);
  if (wrong == nullptr) {
    *queue = opened.release();
  } else {
    close_queue(opened.release());
  }
  return wrong;
}

void close_queue(crossrail_queue* queue) {
  const std::unique_ptr<crossrail_queue> owned(queue);
  const Uncaptured uncaptured;
  const Current current(queue->place->context);
  if (current.result() != kSuccess) return;
  (void)drain(queue);
  close_persistent(*queue);
  close_graphs(*queue);
  close_layouts(*queue);
  while (!queue->pages.empty()) close_flags(queue, queue->pages.back().host);
  if (queue->fork != nullptr) (void)driver().destroy_event(queue->fork);
  if (queue->join != nullptr) (void)driver().destroy_event(queue->join);
  if (queue->stream != nullptr) (void)driver().destroy_stream(queue->stream);
  if (queue->beside != nullptr) (void)driver().destroy_stream(queue->beside);
  if (queue->counters != nullptr) (void)driver().free(address(queue->counters));
}

const char* open_flags(crossrail_queue* queue, void* pages, size_t bytes) {
  const Uncaptured uncaptured;
  const Current current(queue->place->context);
  GPU_TRY(current.result());
  if (const char* wrong = take_pages(pages, bytes); wrong != nullptr) return wrong;
  Address mapped{};
  if (const Result found = driver().address_of_host(&mapped, pages, 0); found != kSuccess) {
    give_pages(pages);
    return text(found);
  }
  queue->pages.push_back({static_cast<char*>(pages), bytes, static_cast<char*>(pointer(mapped))});
  return nullptr;
}

void close_flags(crossrail_queue* queue, void* pages) {
  const auto found = std::find_if(queue->pages.begin(), queue->pages.end(), [&](const Pages& one) { return one.host == pages; });
  if (found == queue->pages.end()) return;
  queue->pages.erase(found);
  const Uncaptured uncaptured;
  const Current current(queue->place->context);
  give_pages(pages);
}

const char* translate(const crossrail_queue& queue, const uint64_t* word, uint64_t** mapped) {
  *mapped = nullptr;
  if (word == nullptr) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(word);
  for (const Pages& pages : queue.pages) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pages.host);
    if (at < begin || at - begin + sizeof *word > pages.bytes) continue;
    *mapped = reinterpret_cast<uint64_t*>(pages.mapped + (at - begin));
    return nullptr;
  }
  return "a flag outside of what open_flags has been given";
}

const char* look(crossrail_queue* queue) {
  const Uncaptured uncaptured;
  const Current current(queue->place->context);
  GPU_TRY(current.result());
  const char* wrong = state_of(queue->stream);
  if (wrong == nullptr) wrong = state_of(queue->beside);
  return wrong == nullptr ? state_of(queue->persistent.stream) : wrong;
}

const char* drain(crossrail_queue* queue) {
  const Uncaptured uncaptured;
  const Current current(queue->place->context);
  GPU_TRY(current.result());
  const char* wrong = retire_persistent(*queue);
  if (queue->stream != nullptr) GPU_TRY(driver().await_stream(queue->stream));
  if (queue->beside != nullptr) GPU_TRY(driver().await_stream(queue->beside));
  queue->stream_used = false;
  return wrong;
}

}  // namespace gpu
