// Datatypes: what their segments have in common is found once for each list.

#include <algorithm>
#include <cstring>

#include "later.h"
#include "queue.h"

namespace gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kMostLayouts = 64;
constexpr uint64_t kUnitsOfACta = 4 * kThreads;
constexpr unsigned kCtasOfAMultiprocessor = 8;

// Largest power of two up to 16 that divides all that has been put together by "or".
uint64_t grain_of(uint64_t all) {
  all |= kernels::kUnitBytes;
  return all & (~all + 1);
}

// Segments that follow each other without a gap are one.
std::vector<crossrail_segment> joined(const crossrail_packing& packing) {
  std::vector<crossrail_segment> segments;
  for (uint64_t i = 0; i < packing.segment_count; ++i) {
    const crossrail_segment& next = packing.segments[i];
    if (next.bytes == 0) continue;
    if (!segments.empty() && segments.back().offset + static_cast<int64_t>(segments.back().bytes) == next.offset) {
      segments.back().bytes += next.bytes;
    } else {
      segments.push_back(next);
    }
  }
  return segments;
}

Layout layout_of(const crossrail_packing& packing) {
  const std::vector<crossrail_segment> segments = joined(packing);
  Layout layout;
  layout.segment_count = segments.size();
  if (segments.empty()) return layout;
  layout.offset = segments[0].offset;
  layout.segment_bytes = segments[0].bytes;
  layout.stride = segments.size() > 1 ? segments[1].offset - segments[0].offset : 0;
  layout.even = true;
  uint64_t all = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    all |= static_cast<uint64_t>(segments[i].offset) | segments[i].bytes;
    layout.even = layout.even && segments[i].bytes == layout.segment_bytes &&
                  segments[i].offset == layout.offset + static_cast<int64_t>(i) * layout.stride;
  }
  layout.grain = grain_of(all);
  return layout;
}

const char* copy_up(crossrail_queue& queue, void* to, const void* from, size_t bytes) {
  GPU_TRY(driver().copy(address(to), address(from), bytes, queue.place->stream));
  GPU_TRY(driver().await_stream(queue.place->stream));
  return nullptr;
}

// The lists in units of `unit` bytes, on the device until the queue is closed: kernels under way, and
// graphs that the program keeps, may read them.
const char* lists_for(crossrail_queue& queue, const crossrail_packing& packing, Layout& layout, kernels::PackTask& task) {
  auto found = layout.lists.find(task.unit);
  if (found == layout.lists.end()) {
    const Uncaptured uncaptured;
    const std::vector<crossrail_segment> segments = joined(packing);
    std::vector<uint64_t> words;
    for (const crossrail_segment& one : segments) words.push_back(static_cast<uint64_t>(one.offset / int64_t{task.unit}));
    uint64_t start = 0;
    for (const crossrail_segment& one : segments) {
      words.push_back(start);
      start += one.bytes / task.unit;
    }
    Address memory{};
    GPU_TRY(with_room(*queue.place, [&] { return driver().allocate(&memory, words.size() * sizeof(uint64_t)); }));
    int64_t* offsets = static_cast<int64_t*>(pointer(memory));
    if (const char* wrong = copy_up(queue, offsets, words.data(), words.size() * sizeof(uint64_t)); wrong != nullptr) {
      do_later(*queue.place, {Chore::free_memory, memory, 0});
      return wrong;
    }
    const Layout::Lists lists{offsets, reinterpret_cast<uint64_t*>(offsets + segments.size())};
    found = layout.lists.emplace(task.unit, lists).first;
  }
  task.offsets = found->second.offsets;
  task.starts = found->second.starts;
  return nullptr;
}

void describe_work(const crossrail_packing& packing, const Layout& layout, kernels::PackTask& task) {
  const uint64_t all = layout.grain | static_cast<uint64_t>(packing.extent) | packing.element_bytes | packing.first |
                       packing.bytes | reinterpret_cast<uint64_t>(packing.elements) | reinterpret_cast<uint64_t>(packing.row);
  const auto unit = static_cast<int64_t>(grain_of(all));
  task.unit = static_cast<uint32_t>(unit);
  task.elements = static_cast<char*>(packing.elements);
  task.row = static_cast<char*>(packing.row);
  task.offset = layout.offset / unit;
  task.stride = layout.stride / unit;
  task.segment_units = layout.segment_bytes / unit;
  task.segment_count = layout.segment_count;
  task.element_units = packing.element_bytes / unit;
  task.extent = packing.extent / unit;
  task.first = packing.first / unit;
  task.count = packing.bytes / unit;
  task.narrow = ((task.first + task.count) | task.element_units) >> 32 == 0 ? 1 : 0;
  task.unpack = packing.unpack != 0 ? 1 : 0;
}

const char* pack_with(crossrail_queue& queue, const crossrail_packing& packing) {
  const At at(*queue.place);
  GPU_TRY(at.result());
  auto found = queue.layouts.find(packing.layout);
  // Programs that make types without end: all are forgotten at times.
  if (found == queue.layouts.end() && queue.layouts.size() >= kMostLayouts && packing.stream == nullptr) {
    if (const char* wrong = drain(&queue); wrong != nullptr) return wrong;
    close_layouts(queue);
  }
  if (found == queue.layouts.end()) found = queue.layouts.emplace(packing.layout, layout_of(packing)).first;
  Layout& layout = found->second;
  if (layout.segment_count == 0 || packing.element_bytes == 0) return "a datatype without bytes";
  kernels::PackTask task{};
  describe_work(packing, layout, task);
  if (!layout.even) {
    if (const char* wrong = lists_for(queue, packing, layout, task); wrong != nullptr) return wrong;
  }
  const uint64_t most = uint64_t{kCtasOfAMultiprocessor} * queue.place->multiprocessors;
  const auto grid = static_cast<unsigned>(std::min(most, (task.count + kUnitsOfACta - 1) / kUnitsOfACta));
  return launch_work(queue, {Kernel::pack, grid, kThreads, &task, sizeof task, nullptr, false}, packing.stream);
}

}  // namespace

const char* pack(crossrail_queue* queue, const crossrail_packing* packing) {
  if (packing->bytes == 0) return nullptr;
  if (packing->stream == nullptr) return pack_with(*queue, *packing);
  const Uncaptured uncaptured;
  return pack_with(*queue, *packing);
}

void close_layouts(crossrail_queue& queue) {
  for (auto& [id, layout] : queue.layouts) {
    for (auto& [unit, lists] : layout.lists) do_later(*queue.place, {Chore::free_memory, address(lists.offsets), 0});
  }
  queue.layouts.clear();
}

}  // namespace gpu
