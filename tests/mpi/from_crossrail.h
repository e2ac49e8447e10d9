/* This header is for programs that have a malloc of their own. */
#pragma once

#include <dlfcn.h>
#include <string.h>

extern void* __libc_malloc(size_t bytes);

/* Returns whether this address lies in a library of crossrail's. It may allocate. */
static inline int from_crossrail(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libcrossrail") != NULL;
}
