/* This is a pretended device driver whose memory the processor cannot touch. It is built as libcuda.so.1, the name by which crossrail finds drivers,
 * and its module is pretend_module.c. */
#include "pretend_driver.h"

#include <sys/mman.h>

enum { kMostPieces = 16 };

static struct {
  char* memory;
  size_t bytes;
} pieces[kMostPieces];

void* pretend_alloc(size_t bytes) {
  for (int i = 0; i < kMostPieces; ++i) {
    if (pieces[i].memory != NULL) continue;
    void* memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    pieces[i].memory = memory;
    pieces[i].bytes = bytes;
    return memory;
  }
  return NULL;
}

void pretend_free(void* memory) {
  for (int i = 0; i < kMostPieces; ++i) {
    if (pieces[i].memory != memory) continue;
    munmap(memory, pieces[i].bytes);
    pieces[i].memory = NULL;
  }
}

int pretend_holds(const void* address) {
  for (int i = 0; i < kMostPieces; ++i) {
    const char* memory = pieces[i].memory;
    if (memory != NULL && (const char*)address >= memory && (const char*)address < memory + pieces[i].bytes) return 1;
  }
  return 0;
}

void pretend_open(int open) {
  for (int i = 0; i < kMostPieces; ++i) {
    if (pieces[i].memory != NULL) mprotect(pieces[i].memory, pieces[i].bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}
