// A kernel moves elements of datatypes. What the runs of a list have in common is found once for each list.

#include <algorithm>
#include <cstring>

#include "later.h"
#include "queue.h"

namespace gpu {
namespace {

constexpr size_t kMostLayouts = 256;
constexpr uint32_t kMostOfAThread = 4;  // This many units are in flight, as kernels::kInFlight says.
constexpr unsigned kCtasOfAMultiprocessor = 2;
constexpr uint64_t kLongUnits = 3 << 20;  // They are worth more than kFillingCtas.

// Returns the largest power of two up to 16 that divides all that has been put together by "or".
uint64_t grain_of(uint64_t all) {
  all |= kernels::kUnitBytes;
  return all & (~all + 1);
}

// Segments that follow each other without a gap become one.
std::vector<crossrail_segment> joined(const crossrail_elements& side) {
  std::vector<crossrail_segment> segments;
  for (uint64_t i = 0; i < side.segment_count; ++i) {
    const crossrail_segment& next = side.segments[i];
    if (next.bytes == 0) continue;
    if (!segments.empty() && segments.back().offset + static_cast<int64_t>(segments.back().bytes) == next.offset) {
      segments.back().bytes += next.bytes;
    } else {
      segments.push_back(next);
    }
  }
  return segments;
}

Layout layout_of(const crossrail_elements& side) {
  const std::vector<crossrail_segment> segments = joined(side);
  Layout layout;
  layout.run_count = segments.size();
  if (segments.empty()) return layout;
  layout.runs = {segments[0].offset, segments[0].bytes, segments.size() > 1 ? segments[1].offset - segments[0].offset : 0};
  layout.even = true;
  uint64_t all = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    all |= static_cast<uint64_t>(segments[i].offset) | segments[i].bytes;
    layout.even = layout.even && segments[i].bytes == layout.runs.bytes &&
                  segments[i].offset == layout.runs.offset + static_cast<int64_t>(i) * layout.runs.stride;
  }
  layout.grain = grain_of(all);
  return layout;
}

const char* copy_up(crossrail_queue& queue, void* to, const void* from, size_t bytes) {
  GPU_TRY(driver().copy(address(to), address(from), bytes, queue.place->stream));
  GPU_TRY(driver().await_stream(queue.place->stream));
  return nullptr;
}

// The lists in units of `unit` bytes stay on the device until the queue is closed, because kernels under way, and graphs that the program
// keeps, may read them.
const char* lists_for(crossrail_queue& queue, const crossrail_elements& side, uint32_t unit, Layout& layout, kernels::Placing& placing) {
  auto found = layout.lists.find(unit);
  if (found == layout.lists.end()) {
    const Uncaptured uncaptured;
    const std::vector<crossrail_segment> segments = joined(side);
    std::vector<uint64_t> words;
    for (const crossrail_segment& one : segments) words.push_back(static_cast<uint64_t>(one.offset / int64_t{unit}));
    uint64_t start = 0;
    for (const crossrail_segment& one : segments) {
      words.push_back(start);
      start += one.bytes / unit;
    }
    Address memory{};
    GPU_TRY(with_room(*queue.place, [&] { return driver().allocate(&memory, words.size() * sizeof(uint64_t)); }));
    int64_t* offsets = static_cast<int64_t*>(pointer(memory));
    if (const char* wrong = copy_up(queue, offsets, words.data(), words.size() * sizeof(uint64_t)); wrong != nullptr) {
      do_later(*queue.place, {Chore::free_memory, memory, 0});
      return wrong;
    }
    const Layout::Lists lists{offsets, reinterpret_cast<uint64_t*>(offsets + segments.size())};
    found = layout.lists.emplace(unit, lists).first;
  }
  placing.is_listed = 1;
  placing.listed = {found->second.offsets, found->second.starts, layout.run_count};
  return nullptr;
}

// This is one side of a movement. `layout` is null if the side has no list.
struct Side {
  const crossrail_elements& asked;
  Layout* layout;

  bool is_row() const { return asked.element_bytes == 0; }
  const crossrail_runs& runs() const { return layout != nullptr ? layout->runs : asked.runs; }
  // Returns all that a unit must divide, put together.
  uint64_t odds() const {
    const uint64_t begin = reinterpret_cast<uint64_t>(asked.at) | asked.first;
    if (is_row()) return begin;
    const uint64_t elements = begin | asked.element_bytes | static_cast<uint64_t>(asked.extent);
    if (layout != nullptr) return elements | layout->grain;
    return elements | static_cast<uint64_t>(asked.runs.offset) | asked.runs.bytes | static_cast<uint64_t>(asked.runs.stride);
  }
};

const char* known_side(crossrail_queue& queue, const crossrail_elements& asked, Layout** layout) {
  *layout = nullptr;
  if (asked.element_bytes == 0) return nullptr;
  if (asked.segments == nullptr) return asked.runs.bytes == 0 ? "a datatype without bytes" : nullptr;
  auto found = queue.layouts.find(asked.layout);
  if (found == queue.layouts.end()) found = queue.layouts.emplace(asked.layout, layout_of(asked)).first;
  *layout = &found->second;
  return found->second.run_count == 0 ? "a datatype without bytes" : nullptr;
}

const char* place_side(crossrail_queue& queue, const Side& side, uint32_t unit, kernels::Placing& placing) {
  const crossrail_elements& asked = side.asked;
  placing.at = static_cast<char*>(asked.at);
  placing.first = asked.first / unit;
  if (side.is_row()) return nullptr;
  placing.element_units = asked.element_bytes / unit;
  placing.by_element = kernels::divisor_of(placing.element_units);
  placing.extent = asked.extent / int64_t{unit};
  if (side.layout != nullptr && !side.layout->even) return lists_for(queue, asked, unit, *side.layout, placing);
  const crossrail_runs& runs = side.runs();
  const uint64_t units = runs.bytes / unit;
  placing.even = {runs.offset / int64_t{unit}, runs.stride / int64_t{unit}, units, kernels::divisor_of(units)};
  return nullptr;
}

const char* describe_movement(crossrail_queue& queue, const crossrail_movement& asked, kernels::Movement& movement) {
  Layout *from = nullptr, *to = nullptr;
  if (const char* wrong = known_side(queue, asked.from, &from); wrong != nullptr) return wrong;
  if (const char* wrong = known_side(queue, asked.to, &to); wrong != nullptr) return wrong;
  const Side source{asked.from, from}, target{asked.to, to};
  const auto unit = static_cast<uint32_t>(grain_of(source.odds() | target.odds() | asked.bytes));
  movement.unit = unit;
  movement.count = asked.bytes / unit;
  if (const char* wrong = place_side(queue, source, unit, movement.from); wrong != nullptr) return wrong;
  if (const char* wrong = place_side(queue, target, unit, movement.to); wrong != nullptr) return wrong;
  return nullptr;
}

uint64_t units_of(const kernels::MoveTask& task) {
  uint64_t units = 0;
  for (uint32_t i = 0; i < task.count; ++i) units += task.movements[i].count;
  return units;
}

uint64_t most_ctas(const crossrail_queue& queue, const crossrail_movements& asked, uint64_t units) {
  const auto all = static_cast<uint64_t>(queue.place->multiprocessors);
  if (asked.work.multiprocessors > 0) return kCtasOfAMultiprocessor * std::min(static_cast<uint64_t>(asked.work.multiprocessors), all);
  return units > kLongUnits ? kCtasOfAMultiprocessor * all : std::min(kFillingCtas, kCtasOfAMultiprocessor * all);
}

// If there are few units, each thread has one, so that more threads have some.
void cut_into_tiles(kernels::MoveTask& task, uint64_t units, uint64_t most_ctas) {
  task.a_thread = static_cast<uint32_t>(std::clamp<uint64_t>(units / (kernels::kMoveThreads * most_ctas), 1, kMostOfAThread));
  const uint64_t tile = uint64_t{kernels::kMoveThreads} * task.a_thread;
  task.even = 1;
  for (uint32_t i = 0; i < task.count; ++i) {
    kernels::Movement& movement = task.movements[i];
    movement.first_tile = task.tiles;
    task.tiles += (movement.count + tile - 1) / tile;
  }
  const uint64_t each = task.count > 0 ? task.tiles / task.count : 0;
  for (uint32_t i = 0; i < task.count; ++i) {
    if (task.movements[i].first_tile != i * each || each * task.count != task.tiles) task.even = 0;
  }
}

const char* launch_movements(crossrail_queue& queue, const crossrail_movements& asked, kernels::MoveTask& task) {
  const uint64_t units = units_of(task), most = most_ctas(queue, asked, units);
  cut_into_tiles(task, units, most);
  const auto grid = static_cast<unsigned>(std::clamp<uint64_t>(task.tiles, 1, most));
  return launch_work(queue, {Kernel::move, grid, kernels::kMoveThreads, &task, sizeof task, &task.signal, false}, asked.work.stream);
}

const char* move_with(crossrail_queue& queue, const crossrail_movements& asked) {
  const At at(*queue.place);
  GPU_TRY(at.result());
  // Some programs make types without end, so all are forgotten at times.
  if (queue.layouts.size() >= kMostLayouts && asked.work.stream == nullptr) {
    if (const char* wrong = drain(queue); wrong != nullptr) return wrong;
    close_layouts(queue);
  }
  int next = 0;
  do {
    kernels::MoveTask task{};
    for (; next < asked.count && task.count < kernels::kMostMovements; ++next) {
      if (asked.all[next].bytes == 0) continue;
      if (const char* wrong = describe_movement(queue, asked.all[next], task.movements[task.count++]); wrong != nullptr) return wrong;
    }
    if (next == asked.count) {
      task.signal.value = asked.work.value;
      if (const char* wrong = translate(queue, asked.work.flag, &task.signal.flag); wrong != nullptr) return wrong;
    }
    if (task.count == 0 && task.signal.flag == nullptr) return nullptr;
    if (const char* wrong = launch_movements(queue, asked, task); wrong != nullptr) return wrong;
  } while (next < asked.count);
  return nullptr;
}

}  // namespace

const char* move(crossrail_queue& queue, const crossrail_movements& asked) {
  if (asked.work.stream == nullptr) return move_with(queue, asked);
  const Uncaptured uncaptured;
  return move_with(queue, asked);
}

void close_layouts(crossrail_queue& queue) {
  for (auto& [id, layout] : queue.layouts) {
    for (auto& [unit, lists] : layout.lists) do_later(*queue.place, {Chore::free_memory, address(lists.offsets), 0});
  }
  queue.layouts.clear();
}

}  // namespace gpu
