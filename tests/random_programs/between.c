/* Bytes between the data of a receive side, and around them, are the program's also while a call is pending. (The C programs that shrink.py prints do
 * not write there.) */
#include <stdlib.h>
#include <string.h>

#include "exchanges.h"

/* The first gaps in a device's memory are written. Each takes a copy, which takes a slice of time where processes share a device. */
enum { kChange = 0x5a, kMostCopies = 40 };

/* Returns one for every byte of the area that the call may write. */
static unsigned char* data_of(const Exchange* exchange, const Area* area) {
  unsigned char* const marks = calloc(area->bytes + 1, 1);
  unsigned char* const base = marks + (area->base - area->memory);
  for (int i = 0; i < exchange->in.blocks; ++i) {
    const Type* const type = type_of(&exchange->in, i);
    for (int64_t copy = 0; copy < count_of(&exchange->in, i); ++copy) {
      unsigned char* const element = base + place_of(&exchange->in, i) + copy * extent_of(type);
      for (size_t run = 0; run < type->runs.count; ++run) memset(element + type->runs.run[run].offset, 1, (size_t)type->runs.run[run].bytes);
    }
  }
  int gaps = 0;
  for (size_t i = 0; exchange->to.on_device != NULL && i < area->bytes; ++i) {
    gaps += !marks[i] && (i == 0 || marks[i - 1]);
    if (gaps > kMostCopies) marks[i] = 1;
  }
  return marks;
}

static void change(const Area* area, const unsigned char* data) {
  for (size_t i = 0; i < area->bytes; ++i) {
    if (!data[i]) area->memory[i] ^= kChange;
  }
}

void change_between(const Exchange* exchange, const Area* area) {
  unsigned char* const data = data_of(exchange, area);
  change(area, data);
  free(data);
}

/* Copies to the device, and nothing but that. */
static void ship(const Area* area, const unsigned char* data) {
  for (size_t first = 0; first < area->bytes;) {
    size_t end = first;
    while (end < area->bytes && !data[end]) ++end;
    if (end > first) open_driver_of_process()->copy(area->on_device + first, area->memory + first, end - first);
    for (first = end; first < area->bytes && data[first];) ++first;
  }
}

void write_between(Exchange* exchange) {
  if (reduces(exchange) || exchange->number % 2 != 0) return;
  unsigned char* const data = data_of(exchange, &exchange->to);
  exchange->written_between = 1;
  change(&exchange->to, data);
  if (exchange->to.on_device != NULL) ship(&exchange->to, data);
  free(data);
}
