#include "areas.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kGuardBytes = 128, kPage = 4096, kAlign = 16 };

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t word = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

static uint64_t word_of(uint64_t key, int64_t number) { return mixed(key, (uint64_t)number); }

unsigned char byte_of(uint64_t key, int64_t position) {
  return (unsigned char)(word_of(key, position >> 3) >> (8 * (position & 7)));
}

static void map_area(Area* area, size_t before, size_t behind) {
  const size_t pages = (area->bytes + kPage - 1) / kPage * kPage;
  const int flags = (area->kind == kShared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
  area->mapped_bytes = pages + before + behind;
  area->mapped = mmap(NULL, area->mapped_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (area->mapped == MAP_FAILED) give_up("no memory of %zu bytes", area->mapped_bytes);
  unsigned char* const first = (unsigned char*)area->mapped + before;
  if (before > 0) mprotect(area->mapped, before, PROT_NONE);
  if (behind > 0) mprotect(first + pages, behind, PROT_NONE);
  area->memory = behind > 0 ? first + pages - area->bytes : first;
}

static int on_device(int kind) { return kind >= kDevice && open_driver_of_process() != NULL; }

static void take_on_device(Area* area, size_t shift) {
  static const int kinds[] = {kWholeAllocation, kWholeAllocation, kPartOfAllocation, kUnshareable, kManaged, kChunks};
  area->device = take_device_memory(kinds[area->kind - kDevice], area->bytes + shift);
  area->on_device = area->device.at + shift;
  area->address = area->on_device + (area->base - area->memory);
}

Area make_area(int kind_and_shift, int64_t low, int64_t high) {
  const int kind = kind_and_shift % 100;
  if (high < low) high = low;
  const int64_t first = (low >= 0 ? low : low - (kAlign - 1)) / kAlign * kAlign;
  const int64_t last = (high >= 0 ? high + (kAlign - 1) : high) / kAlign * kAlign;
  const size_t before = kind == kBehindForbiddenPage || kind == kWholeDevice ? 0 : kGuardBytes;
  const size_t behind = kind == kBeforeForbiddenPage || kind == kWholeDevice ? 0 : kGuardBytes;
  Area area = {.kind = kind, .bytes = (size_t)(last - first) + before + behind};
  if (kind == kHeap || kind >= kDevice) {
    area.memory = aligned_alloc(kAlign, area.bytes);
  } else {
    map_area(&area, kind == kBehindForbiddenPage ? kPage : 0, kind == kBeforeForbiddenPage ? kPage : 0);
  }
  area.address = area.base = area.memory + before - first;
  if (on_device(kind)) take_on_device(&area, (size_t)kind_and_shift / 100);
  return area;
}

void free_area(Area* area) {
  if (area->on_device != NULL) give_device_memory_back(&area->device);
  if (area->mapped != NULL) {
    munmap(area->mapped, area->mapped_bytes);
  } else {
    free(area->memory);
  }
  memset(area, 0, sizeof *area);
}

void fill_area(Area* area, uint64_t key) {
  const int64_t first = area->memory - area->base;
  size_t i = 0;
  for (; i < area->bytes && ((first + (int64_t)i) & 7) != 0; ++i) area->memory[i] = byte_of(key, first + (int64_t)i);
  for (; i + 8 <= area->bytes; i += 8) {
    const uint64_t word = word_of(key, (first + (int64_t)i) >> 3);
    memcpy(area->memory + i, &word, 8);
  }
  for (; i < area->bytes; ++i) area->memory[i] = byte_of(key, first + (int64_t)i);
}

void seal_area(const Area* area, int sealed) {
  if (area->kind == kReadOnly) mprotect(area->mapped, area->mapped_bytes, sealed ? PROT_READ : PROT_READ | PROT_WRITE);
}

void to_device(const Area* area) {
  if (area->on_device != NULL && area->bytes > 0) open_driver_of_process()->copy(area->on_device, area->memory, area->bytes);
}

void from_device(const Area* area) {
  if (area->on_device != NULL && area->bytes > 0) open_driver_of_process()->copy(area->memory, area->on_device, area->bytes);
}
