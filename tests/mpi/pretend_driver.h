#pragma once

#include <stddef.h>

void* pretend_alloc(size_t bytes);
void pretend_free(void* memory);
int pretend_holds(const void* address);
/* Makes all of its memory touchable, or none. */
void pretend_open(int open);
