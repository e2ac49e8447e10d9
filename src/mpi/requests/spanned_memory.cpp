#include "mpi/requests/spanned_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace crossrail::mpi {
namespace {

constexpr std::size_t kShort = std::size_t{64} << 20;
constexpr std::size_t kFar = std::size_t{1} << 40;  // there may be no addresses for so many bytes, or none for what comes next
constexpr std::size_t kApart = 64;

void* map_at(std::uintptr_t address, std::size_t bytes, int flags) {
  return mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

// MPI libraries have a meaning of their own for the addresses around null.
bool means_something(std::uintptr_t address, std::uintptr_t page) { return address + page < 2 * page; }

// Whole pages, as mappings are; no two ranges share one, since they are further apart.
std::vector<AddressRange> pages_of(std::vector<AddressRange> ranges, std::uintptr_t page) {
  for (AddressRange& range : ranges) range = {range.begin & ~(page - 1), (range.end + page - 1) & ~(page - 1)};
  return ranges;
}

// Some dozens: first in the middle, where neither the stack nor the heap will grow, then here and there, as other threads map memory meanwhile.
std::vector<std::intptr_t> candidates(const std::vector<Distances>& all, std::uintptr_t page) {
  constexpr std::size_t kWidest = 8;
  constexpr int kParts = 8;
  std::vector<std::intptr_t> found;
  for (const int part : {4, 3, 5, 1}) {
    for (std::size_t one = 0; one < std::min(all.size(), kWidest); ++one) {
      const std::intptr_t step = static_cast<std::intptr_t>(page), steps = (all[one].most - all[one].least) / step;
      found.push_back(all[one].least + steps * part / kParts * step);
    }
  }
  return found;
}

}  // namespace

SpannedMemory::~SpannedMemory() { unmap(); }

void SpannedMemory::unmap() {
  for (const AddressRange& range : mapped_) munmap(reinterpret_cast<void*>(range.begin), range.end - range.begin);
  mapped_.clear();
}

Status SpannedMemory::reserve(std::byte* program, const CopiedSide& side, const std::byte* other) {
  if (side.span.bytes < kFar && reserve_whole(side.span, other).ok()) return {};
  return reserve_parts(program, side.parts, other);
}

Status SpannedMemory::reserve_whole(const Span& span, const std::byte* other) {
  const std::size_t bytes = span.bytes + kApart;
  void* memory = nullptr;
  if (bytes <= kShort) {
    CROSSRAIL_TRY(short_.reserve(bytes));
    memory = short_.memory.get();
  } else {
    memory = map_at(0, bytes, 0);
    if (memory == MAP_FAILED) return failure(Code::no_memory, "no addresses for %zu bytes", bytes);
    mapped_.push_back({address_of(memory), address_of(memory) + bytes});
  }
  address_ = moved(memory, -span.lower);
  if (address_ == other) address_ += kApart;
  return {};
}

Status SpannedMemory::reserve_parts(std::byte* program, const SideParts& parts, const std::byte* other) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::vector<AddressRange> ranges = pages_of(ranges_of(program, parts, kShort), page);
  bool taken = true;
  for (const std::intptr_t distance : candidates(distances_into(free_addresses(), ranges), page)) {
    std::byte* const address = moved(program, distance);
    if (address == other || means_something(address_of(address), page)) continue;
    CROSSRAIL_TRY(map(ranges, distance, taken));
    if (taken) continue;
    address_ = address;
    return {};
  }
  return failure(Code::no_memory, "the MPI library knows nothing of device memory, and there are no free addresses for copies of the %zu parts of a buffer "
                 "that lie as far apart", ranges.size());
}

// Takes all or none; `taken`: some of it is somebody else's, another distance may do.
Status SpannedMemory::map(const std::vector<AddressRange>& ranges, std::intptr_t distance, bool& taken) {
  taken = false;
  for (const AddressRange& range : ranges) {
    const std::uintptr_t wanted = range.begin + static_cast<std::uintptr_t>(distance), bytes = range.end - range.begin;
    void* const memory = map_at(wanted, bytes, MAP_FIXED_NOREPLACE);
    if (memory != MAP_FAILED) mapped_.push_back({address_of(memory), address_of(memory) + bytes});
    taken = memory == MAP_FAILED ? errno != ENOMEM : address_of(memory) != wanted;  // Linux before 4.17 takes the address as a wish
    if (memory != MAP_FAILED && !taken) continue;
    unmap();
    return taken ? Status{} : failure(Code::no_memory, "no memory for copies of %zu bytes in device memory", static_cast<std::size_t>(bytes));
  }
  return {};
}

}  // namespace crossrail::mpi
