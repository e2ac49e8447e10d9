#include "queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "later.h"

namespace gpu {
namespace {

// The driver gets a mapping of its own of the pages, since taking it back waits for the device. The caller may then unmap his at once.
// Where the pages cannot be mapped again (nobody shares them), the driver gets the caller's.
const char* take_pages(void* pages, size_t bytes, Pages& taken) {
  taken = {static_cast<char*>(pages), bytes, nullptr, nullptr};
  void* again = mremap(pages, 0, bytes, MREMAP_MAYMOVE);
  taken.registered = again == MAP_FAILED ? pages : again;
  const Result result = register_mapped(taken.registered, bytes);
  if (result == kSuccess || (again == MAP_FAILED && result == kAlreadyRegistered)) return nullptr;
  if (again != MAP_FAILED) munmap(again, bytes);
  return text(result);
}

void give_pages(Place& place, const Pages& pages) {
  if (pages.registered != pages.host) return do_later(place, {Chore::unregister_pages, address(pages.registered), pages.bytes});
  const Uncaptured uncaptured;
  const At at(place);
  if (at.result() == kSuccess) (void)driver().unregister_host(pages.registered);
}

Way way_of(const char* wanted) {
  if (wanted != nullptr && std::strcmp(wanted, "kernel") == 0) return Way::kernel;
  if (wanted != nullptr && std::strcmp(wanted, "update") == 0) return Way::update;
  return Way::graph;
}

const char* open_parts(crossrail_queue& queue) {
  const At at(*queue.place);
  GPU_TRY(at.result());
  GPU_TRY(make_stream(&queue.stream, high_priority()));
  if (const char* wrong = open_side(queue); wrong != nullptr) return wrong;
  Address counters{};
  GPU_TRY(with_room(*queue.place, [&] { return driver().allocate(&counters, sizeof(Counters)); }));
  queue.counters = static_cast<Counters*>(pointer(counters));
  GPU_TRY(driver().set_bytes(counters, 0, sizeof(Counters), queue.stream));
  GPU_TRY(driver().await_stream(queue.stream));
  queue.last_known = true;
  (void)load_kernels(*queue.place);  // Their lack is told where they are needed.
  open_graphs(queue);
  return nullptr;
}

const char* state_of(Stream stream) {
  if (stream == nullptr) return nullptr;
  const Result state = driver().query_stream(stream);
  return state == kNotReady ? nullptr : text(state);
}

const char* look(crossrail_queue& queue) {
  const Uncaptured uncaptured;
  const At at(*queue.place);
  GPU_TRY(at.result());
  const char* wrong = state_of(queue.stream);
  if (wrong == nullptr && !queue.sides.empty()) wrong = state_of(queue.sides.front().stream);
  return wrong == nullptr ? state_of(queue.persistent.stream) : wrong;
}

bool open_times(crossrail_queue& queue) {
  const At at(*queue.place);
  return at.result() == kSuccess && queue.times.open(queue.stream) == nullptr;
}

// It returns false if there are no times of this work.
bool begin_times(crossrail_queue& queue, uint64_t* piece) {
  const Uncaptured uncaptured;
  const At at(*queue.place);
  if (*piece != 0) return at.result() == kSuccess;
  // The work follows the persistent kernel, too. That time is not its own.
  return at.result() == kSuccess && follow_persistent(queue) == nullptr && queue.times.begin(queue.stream, piece) == nullptr;
}

void end_times(crossrail_queue& queue) {
  const Uncaptured uncaptured;
  const At at(*queue.place);
  if (at.result() == kSuccess) (void)queue.times.end(queue.stream);
}

constexpr const char* kUnknownKind = "a kind of work that this module does not know";

}  // namespace

const char* open_queue(const crossrail_memory* near, int timed, crossrail_queue** queue, crossrail_queue_facts* facts) {
  const char* wrong = nullptr;
  auto opened = std::make_unique<crossrail_queue>();
  opened->place = place_of(*near, &wrong);
  if (opened->place == nullptr) return wrong;
  opened->way = way_of(std::getenv("CROSSRAIL_LAUNCH"));  // It is for tests and measurements of the module itself.
  const Uncaptured uncaptured;
  wrong = open_parts(*opened);
  if (wrong != nullptr) {
    close_queue(opened.release());
    return wrong;
  }
  opened->timed = timed != 0 && open_times(*opened);
  *facts = {opened->place->identity, reinterpret_cast<uintptr_t>(opened->place), runs_processes_at_once(opened->place->device) ? 1 : 0};
  *queue = opened.release();
  return nullptr;
}

void close_queue(crossrail_queue* queue) {
  const std::unique_ptr<crossrail_queue> owned(queue);
  const Uncaptured uncaptured;
  const At at(*queue->place);
  (void)drain(*queue);
  while (!queue->pages.empty()) close_pages(queue, queue->pages.back().host);
  if (at.result() != kSuccess) return;
  close_persistent(*queue);
  close_graphs(*queue);
  close_layouts(*queue);
  close_sides(*queue);
  queue->times.close();
  if (queue->stream != nullptr) (void)driver().destroy_stream(queue->stream);
  if (queue->counters != nullptr) do_later(*queue->place, {Chore::free_memory, address(queue->counters), 0});
}

const char* open_pages(crossrail_queue* queue, void* pages, size_t bytes, void** mapped) {
  const Uncaptured uncaptured;
  const At at(*queue->place);
  GPU_TRY(at.result());
  Pages taken{};
  if (const char* wrong = take_pages(pages, bytes, taken); wrong != nullptr) return wrong;
  Address address_there{};
  if (const Result found = driver().address_of_host(&address_there, taken.registered, 0); found != kSuccess) {
    give_pages(*queue->place, taken);
    return text(found);
  }
  taken.mapped = static_cast<char*>(pointer(address_there));
  *mapped = taken.mapped;
  queue->pages.push_back(taken);
  return nullptr;
}

void close_pages(crossrail_queue* queue, void* pages) {
  const auto found = std::find_if(queue->pages.begin(), queue->pages.end(), [&](const Pages& one) { return one.host == pages; });
  if (found == queue->pages.end()) return;
  const Pages given = *found;
  queue->pages.erase(found);
  give_pages(*queue->place, given);
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
  return "a flag outside of what open_pages has been given";
}

const char* drain(crossrail_queue& queue) {
  const Uncaptured uncaptured;
  const At at(*queue.place);
  GPU_TRY(at.result());
  const char* wrong = retire_persistent(queue);
  if (queue.stream != nullptr) GPU_TRY(driver().await_stream(queue.stream));
  if (!queue.sides.empty()) GPU_TRY(driver().await_stream(queue.sides.front().stream));
  queue.stream_used = false;
  return wrong;
}

const char* sync(crossrail_queue* queue, crossrail_sync how) {
  switch (how) {
    case CROSSRAIL_SYNC_ALIVE: return generation_of(queue->place->context) == queue->place->generation ? nullptr : "the device has been reset";
    case CROSSRAIL_SYNC_ERRORS: return look(*queue);
    case CROSSRAIL_SYNC_IDLE: return settle(*queue->place), nullptr;
    case CROSSRAIL_SYNC_DRAIN: return drain(*queue);
  }
  return nullptr;
}

int times(crossrail_queue* queue, uint64_t piece, crossrail_times* times) {
  const Uncaptured uncaptured;
  const At at(*queue->place);
  return at.result() == kSuccess ? queue->times.look(piece, times) : -1;
}

namespace {

const char* enqueue_kind(crossrail_queue& queue, const crossrail_work& work) {
  switch (work.kind) {
    case CROSSRAIL_WORK_EXCHANGE: return exchange(queue, reinterpret_cast<const crossrail_exchange&>(work));
    case CROSSRAIL_WORK_MOVE: return move(queue, reinterpret_cast<const crossrail_movements&>(work));
    case CROSSRAIL_WORK_COMBINE: return combine(queue, reinterpret_cast<const crossrail_combination&>(work));
    case CROSSRAIL_WORK_PACKETS: return packets(queue, reinterpret_cast<const crossrail_packets&>(work));
    case CROSSRAIL_WORK_COUNTED: return exchange_counted(queue, reinterpret_cast<const crossrail_counted_exchange&>(work));
    case CROSSRAIL_WORK_MESSAGES: return messages(queue, reinterpret_cast<const crossrail_messages&>(work));
    case CROSSRAIL_WORK_BARRIER: return meet_alone(queue, work.before, work.stream);
    default: return kUnknownKind;
  }
}

}  // namespace

const char* supports(crossrail_queue* queue, const crossrail_work* work, size_t* buffer_bytes) {
  const bool known = work->kind >= CROSSRAIL_WORK_EXCHANGE && work->kind <= CROSSRAIL_WORK_MESSAGES;
  if (!known) return kUnknownKind;
  if (kernel_image() == nullptr && work->kind != CROSSRAIL_WORK_EXCHANGE) return "a module that was built without kernels";
  if (work->kind == CROSSRAIL_WORK_COMBINE) return combines(reinterpret_cast<const crossrail_combination*>(work)->reduction);
  if (work->kind == CROSSRAIL_WORK_MESSAGES) return supports_messages(*queue, reinterpret_cast<const crossrail_messages*>(work)->ranks, buffer_bytes);
  if (work->kind != CROSSRAIL_WORK_PACKETS) return nullptr;
  return supports_packets(*queue, *reinterpret_cast<const crossrail_packets*>(work), buffer_bytes);
}

// If the times cannot be had, the work is done without them.
const char* enqueue(crossrail_queue* queue, const crossrail_work* work) {
  const bool timed = work->piece != nullptr && queue->timed && work->stream == nullptr && begin_times(*queue, work->piece);
  const char* const wrong = enqueue_kind(*queue, *work);
  if (timed) end_times(*queue);
  return wrong;
}

}  // namespace gpu
