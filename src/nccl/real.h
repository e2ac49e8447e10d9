// The NCCL library for which the shim of this process was written. It is loaded at the first call.
#pragma once

#include <cstddef>

#include "nccl/api.h"

namespace crossrail::nccl {

// Loads the library in `file`, unless one has been loaded.
void load_real(const char* file);

// Returns the function of that name, or null if the library has none, or if there is no library.
void* real_function(const char* name);

// These are the functions that crossrail calls itself. A function that the library does not have is null.
struct Real {
#define REAL(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "nccl/real.def"
#undef REAL
};
const Real& real();

}  // namespace crossrail::nccl
