// The NCCL library that the process would have without crossrail. It is loaded at the first call.
#pragma once

#include <cstddef>

#include "nccl/api.h"

namespace crossrail::nccl {

// Returns the function of that name, or null if the library has none, or if there is no library.
void* real_function(const char* name);

// These are the functions that crossrail calls itself. A function that the library does not have is null.
struct Real {
#define REAL(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "nccl/real.def"
#undef REAL
};
const Real& real();

// `caller` is an address in the code that asks for NCCL first. The library is looked for where its object would have it looked for.
void asked_by(const void* caller);

}  // namespace crossrail::nccl
