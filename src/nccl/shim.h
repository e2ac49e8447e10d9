// A shim is a small shared library that stands where a program expects NCCL: it has NCCL's SONAME and exactly the names of the NCCL library for which
// it was written, so a program that looks for a name finds what it would have found. Each name jumps to crossrail's function of that name or to
// NCCL's, which is found at its first call. Shims are written without a compiler, for any version of NCCL.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace crossrail::nccl {

// Reads the names of all functions that the shared library in `file` exports. Errors: system, invalid.
Status read_names(const std::string& file, std::vector<std::string>& names);

// Writes a shim with these names. Both paths are absolute. Errors: system, unsupported (no x86-64).
struct ShimLibraries {
  std::string crossrail;  // It has the function crossrail_nccl_resolve, and the shim needs it.
  std::string nccl;       // It is loaded at the first call.
};
Status write_shim(const std::string& path, const ShimLibraries& libraries, const std::vector<std::string>& names);

}  // namespace crossrail::nccl
