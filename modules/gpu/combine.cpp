// This finds which combination of the kernels' (kernels/combinations.def) does a reduction, and combines rows of elements that become one.

#include <algorithm>

#include "queue.h"

namespace gpu {
namespace {

using kernels::Combination;

enum class Operation : int {
  none,
#define OPERATION(name) name,
#include "comm/reductions.def"
#undef OPERATION
};
enum class Element : int {
  none,
#define ELEMENT(name, ...) name,
#include "comm/reductions.def"
#undef ELEMENT
};

// Combinations of one operation stand in the order of their elements.
Combination after(Combination first, int places) { return static_cast<Combination>(static_cast<uint32_t>(first) + static_cast<uint32_t>(places)); }

// `width` is 0 for 8 bits, 1 for 16, and so on.
Combination of_integers(Operation operation, int width, bool is_signed) {
  switch (operation) {
    case Operation::sum: return after(Combination::sum_uint8, width);
    case Operation::product: return after(Combination::product_uint8, width);
    case Operation::minimum: return after(is_signed ? Combination::minimum_int8 : Combination::minimum_uint8, width);
    case Operation::maximum: return after(is_signed ? Combination::maximum_int8 : Combination::maximum_uint8, width);
    case Operation::logical_and: return after(Combination::logical_and_uint8, width);
    case Operation::logical_or: return after(Combination::logical_or_uint8, width);
    case Operation::logical_xor: return after(Combination::logical_xor_uint8, width);
    case Operation::bitwise_and: return Combination::bitwise_and;
    case Operation::bitwise_or: return Combination::bitwise_or;
    case Operation::bitwise_xor: return Combination::bitwise_xor;
    default: return Combination::none;
  }
}

// `width` is 0 for single precision and 1 for double.
Combination of_reals(Operation operation, int width) {
  switch (operation) {
    case Operation::sum: return after(Combination::sum_float32, width);
    case Operation::product: return after(Combination::product_float32, width);
    case Operation::minimum: return after(Combination::minimum_float32, width);
    case Operation::maximum: return after(Combination::maximum_float32, width);
    default: return Combination::none;
  }
}

// `which` counts the short floats in the order of combinations.def.
Combination of_short_floats(Operation operation, int which) {
  switch (operation) {
    case Operation::sum: return after(Combination::sum_float16, which);
    case Operation::product: return after(Combination::product_float16, which);
    case Operation::minimum: return after(Combination::minimum_float16, which);
    case Operation::maximum: return after(Combination::maximum_float16, which);
    default: return Combination::none;
  }
}

Combination of_complex(Operation operation, int width) {
  if (operation == Operation::sum) return after(Combination::sum_float32, width);
  return operation == Operation::product ? after(Combination::product_complex_float32, width) : Combination::none;
}

Combination of_truths(Operation operation, int width) {
  switch (operation) {
    case Operation::logical_and: return after(Combination::truth_and8, width);
    case Operation::logical_or: return after(Combination::truth_or8, width);
    case Operation::logical_xor: return after(Combination::truth_xor8, width);
    default: return Combination::none;
  }
}

// `which` counts the pairs in the order of combinations.def.
Combination of_places(Operation operation, int which) {
  if (operation == Operation::minimum_place) return after(Combination::minimum_place_placed_int16, which);
  return operation == Operation::maximum_place ? after(Combination::maximum_place_placed_int16, which) : Combination::none;
}

Combination of_bits(Operation operation) {
  const bool bits = operation == Operation::bitwise_and || operation == Operation::bitwise_or || operation == Operation::bitwise_xor;
  return bits ? of_integers(operation, 0, false) : Combination::none;
}

struct Found {
  Combination combination;
  uint32_t element_bytes;
};

// There is no combination for what no kernel can do, which is long double. The combination of an average is the sum.
Found find(const crossrail_reduction& reduction) {
  const auto asked = static_cast<Operation>(reduction.operation);
  const Operation operation = asked == Operation::average ? Operation::sum : asked;
  switch (static_cast<Element>(reduction.element)) {
    case Element::int8: return {of_integers(operation, 0, true), 1};
    case Element::int16: return {of_integers(operation, 1, true), 2};
    case Element::int32: return {of_integers(operation, 2, true), 4};
    case Element::int64: return {of_integers(operation, 3, true), 8};
    case Element::uint8: return {of_integers(operation, 0, false), 1};
    case Element::uint16: return {of_integers(operation, 1, false), 2};
    case Element::uint32: return {of_integers(operation, 2, false), 4};
    case Element::uint64: return {of_integers(operation, 3, false), 8};
    case Element::byte: return {of_bits(operation), 1};
    case Element::float32: return {of_reals(operation, 0), 4};
    case Element::float64: return {of_reals(operation, 1), 8};
    case Element::complex_float32: return {of_complex(operation, 0), 8};
    case Element::complex_float64: return {of_complex(operation, 1), 16};
    case Element::truth8: return {of_truths(operation, 0), 1};
    case Element::truth16: return {of_truths(operation, 1), 2};
    case Element::truth32: return {of_truths(operation, 2), 4};
    case Element::truth64: return {of_truths(operation, 3), 8};
    case Element::placed_int16: return {of_places(operation, 0), 6};
    case Element::placed_int32: return {of_places(operation, 1), 8};
    case Element::placed_int64: return {of_places(operation, 2), 12};
    case Element::placed_float32: return {of_places(operation, 3), 8};
    case Element::placed_float64: return {of_places(operation, 4), 12};
    case Element::two_float32: return {of_places(operation, 5), 8};
    case Element::two_float64: return {of_places(operation, 6), 16};
    case Element::float16: return {of_short_floats(operation, 0), 2};
    case Element::bfloat16: return {of_short_floats(operation, 1), 2};
    case Element::float8_e4m3: return {of_short_floats(operation, 2), 1};
    case Element::float8_e5m2: return {of_short_floats(operation, 3), 1};
    default: return {Combination::none, 1};
  }
}

uint32_t unit_bytes_of(const Found& found) {
  return kernels::kUnitBytes % found.element_bytes == 0 ? static_cast<uint32_t>(kernels::kUnitBytes) : found.element_bytes;
}

unsigned ctas(uint64_t units, uint64_t of_each) { return static_cast<unsigned>((units + of_each - 1) / of_each); }

// One CTA does it as long as one tile is enough, because the first to count arrivals costs a microsecond. Then there are as many as have a
// unit for every thread, up to one a multiprocessor. If results go to others, tiles that would be left over make it two, so that one reads
// while the other writes.
unsigned grid_for(const crossrail_queue& queue, const crossrail_combination& asked, const Groups& groups, uint64_t units) {
  const auto all = static_cast<unsigned>(queue.place->multiprocessors);
  const unsigned allowed = asked.work.multiprocessors > 0 ? std::min(static_cast<unsigned>(asked.work.multiprocessors), 2 * all) : asked.to_count > 1 ? 2 * all : all;
  if (units <= groups.tile_units()) return 1;
  return std::min(allowed, std::max(ctas(units, groups.tile_units()), std::min(all, ctas(units, groups.across))));
}

template <unsigned kMost>
const char* tell_rows(const crossrail_queue& queue, const crossrail_combination& asked, kernels::CombineTask<kMost>& task) {
  if (const char* wrong = translate(queue, asked.work.flag, &task.signal.flag); wrong != nullptr) return wrong;
  task.signal.value = asked.work.value;
  task.from_count = static_cast<uint32_t>(asked.from_count);
  task.to_count = static_cast<uint32_t>(asked.to_count);
  task.turn = static_cast<uint32_t>(asked.turn);
  task.scaling = scaling_of(asked.reduction, asked.from_count);
  uint64_t addresses = 0;
  for (int i = 0; i < asked.from_count; ++i) {
    task.from[i] = static_cast<const char*>(asked.from[i]);
    addresses |= reinterpret_cast<uint64_t>(asked.from[i]);
  }
  for (int i = 0; i < asked.to_count; ++i) {
    task.to[i] = static_cast<char*>(asked.to[i]);
    addresses |= reinterpret_cast<uint64_t>(asked.to[i]);
  }
  return tell_elements(asked.reduction, asked.bytes, addresses, task.elements);
}

uint64_t units_of(const kernels::Elements& elements) { return (elements.bytes + elements.unit_bytes - 1) / elements.unit_bytes; }

template <unsigned kMost>
const char* launch_combination(crossrail_queue& queue, const crossrail_combination& asked, Kernel kernel) {
  kernels::CombineTask<kMost> task{};
  if (const char* wrong = tell_rows(queue, asked, task); wrong != nullptr) return wrong;
  const uint64_t units = units_of(task.elements);
  const Groups groups = groups_of(asked.from_count, units);
  task.rows = groups.rows;
  const unsigned grid = grid_for(queue, asked, groups, units);
  return launch_work(queue, {kernel, grid, groups.threads, &task, sizeof task, &task.signal, false}, asked.work.stream);
}

int most_rows(const crossrail_combination& asked) { return std::max(asked.from_count, asked.to_count); }

const char* combine_alone(crossrail_queue& queue, const crossrail_combination& asked) {
  if (most_rows(asked) <= static_cast<int>(kernels::kFewRanks)) return launch_combination<kernels::kFewRanks>(queue, asked, Kernel::combine_few);
  return launch_combination<kernels::kManyRanks>(queue, asked, Kernel::combine_many);
}

// This is one kernel, where few CTAs can do it. `there` says whether it was so.
const char* combine_between(crossrail_queue& queue, const crossrail_combination& asked, const Meetings& meetings, bool& there) {
  there = false;
  if (!meetings.few_ranks() || most_rows(asked) > static_cast<int>(kernels::kFewRanks)) return nullptr;
  kernels::CombineBetween task{};
  if (const char* wrong = tell_rows(queue, asked, task.combine); wrong != nullptr) return wrong;
  const uint64_t units = units_of(task.combine.elements);
  const Groups groups = groups_of(asked.from_count, units);
  const unsigned tiles = std::max(1u, ctas(units, groups.tile_units()));
  if (tiles > kernels::kMostMeetingCtas) return nullptr;
  const unsigned grid = asked.work.multiprocessors > 0 ? std::min(tiles, static_cast<unsigned>(asked.work.multiprocessors)) : tiles;
  there = true;
  task.combine.rows = groups.rows;
  if (const char* wrong = tell_meetings(queue, meetings, task.meeting); wrong != nullptr) return wrong;
  return launch_work(queue, {Kernel::combine_between, grid, groups.threads, &task, sizeof task, nullptr, false}, asked.work.stream);
}

const char* combine_with_barriers(crossrail_queue& queue, const crossrail_combination& asked) {
  const crossrail_work& work = asked.work;
  const Meetings meetings{work.before, work.after};
  if (!meetings.any()) return combine_alone(queue, asked);
  bool there = false;
  if (const char* wrong = combine_between(queue, asked, meetings, there); wrong != nullptr || there) return wrong;
  if (const char* wrong = meet_alone(queue, work.before, work.stream); wrong != nullptr) return wrong;
  if (const char* wrong = combine_alone(queue, asked); wrong != nullptr) return wrong;
  return meet_alone(queue, work.after, work.stream);
}

}  // namespace

Groups groups_of(int rows, uint64_t units) {
  constexpr uint32_t kLine = kernels::kLineUnits;
  const auto together = std::min(static_cast<uint32_t>(rows), uint32_t{kernels::kFewRanks});
  const uint64_t most = kernels::kCombineThreads / together / kLine * kLine;
  const auto across = static_cast<uint32_t>(std::min(round_up(std::max<uint64_t>(units, 1), kLine), most));
  return {together, across, static_cast<unsigned>(round_up(across * together, kernels::kWarpLanes))};
}

const char* tell_elements(const crossrail_reduction& reduction, size_t bytes, uint64_t addresses, kernels::Elements& elements) {
  const Found found = find(reduction);
  if (const char* wrong = combines(reduction); wrong != nullptr) return wrong;
  elements.bytes = bytes;
  elements.combination = found.combination;
  elements.unit_bytes = unit_bytes_of(found);
  // Units lie a unit's bytes apart.
  const uint64_t all = addresses | elements.unit_bytes;
  elements.align = static_cast<uint32_t>(all & (~all + 1));
  return nullptr;
}

const char* combines(const crossrail_reduction& reduction) {
  return find(reduction).combination == Combination::none ? "no kernel combines such elements" : nullptr;
}

const char* combine(crossrail_queue& queue, const crossrail_combination& asked) {
  const bool right = asked.from_count >= 1 && asked.from_count <= CROSSRAIL_MOST_OPERANDS && asked.to_count >= 0 &&
                     asked.to_count <= CROSSRAIL_MOST_OPERANDS && asked.turn >= 0;
  if (!right) return "too many rows of elements";
  const At at(*queue.place);
  GPU_TRY(at.result());
  return combine_with_barriers(queue, asked);
}

size_t bytes_of_combined_packets(size_t block_bytes, const crossrail_reduction& reduction) {
  const uint32_t unit = unit_bytes_of(find(reduction));
  return (block_bytes + unit - 1) / unit * kernels::kUnitBytes;
}

}  // namespace gpu
