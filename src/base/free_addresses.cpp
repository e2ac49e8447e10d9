#include "base/free_addresses.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace crossrail {
namespace {

std::intptr_t difference(std::uintptr_t to, std::uintptr_t from) { return static_cast<std::intptr_t>(to - from); }

std::vector<Distances> distances_of(const std::vector<AddressRange>& room, const AddressRange& range) {
  std::vector<Distances> all;
  for (const AddressRange& gap : room) {
    if (gap.end - gap.begin >= range.end - range.begin) all.push_back({difference(gap.begin, range.begin), difference(gap.end, range.end)});
  }
  return all;
}

// Of lists that ascend.
std::vector<Distances> in_both(const std::vector<Distances>& one, const std::vector<Distances>& other) {
  std::vector<Distances> both;
  for (auto a = one.begin(), b = other.begin(); a != one.end() && b != other.end();) {
    const Distances common{std::max(a->least, b->least), std::min(a->most, b->most)};
    if (common.least <= common.most) both.push_back(common);
    if (a->most < b->most) ++a;
    else ++b;
  }
  return both;
}

}  // namespace

std::vector<AddressRange> free_addresses() {
  constexpr std::uintptr_t kLowest = std::uintptr_t{1} << 20;  // a system keeps the first pages for nobody
  constexpr std::uintptr_t kKernels = std::uintptr_t{1} << 63;
  std::vector<AddressRange> room;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return room;
  std::uintptr_t begin = 0, end = 0, last = kLowest;
  // Nothing is free above the highest mapping: that is the end of what the processor, or the system, has for us.
  while (std::fscanf(maps, "%lx-%lx%*[^\n]", &begin, &end) == 2 && begin < kKernels) {
    if (begin > last) room.push_back({last, begin});
    last = std::max(last, end);
  }
  (void)std::fclose(maps);
  return room;
}

std::vector<Distances> distances_into(const std::vector<AddressRange>& room, const std::vector<AddressRange>& ranges) {
  std::vector<Distances> all{{std::numeric_limits<std::intptr_t>::min() / 2, std::numeric_limits<std::intptr_t>::max() / 2}};
  for (const AddressRange& range : ranges) {
    all = in_both(all, distances_of(room, range));
    if (all.empty()) break;
  }
  std::stable_sort(all.begin(), all.end(), [](const Distances& a, const Distances& b) { return a.most - a.least > b.most - b.least; });
  return all;
}

}  // namespace crossrail
