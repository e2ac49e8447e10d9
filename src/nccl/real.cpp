#include "nccl/real.h"

#include <dlfcn.h>

#include "base/log.h"

namespace crossrail::nccl {
namespace {

void* open_library(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) log_line(LogLevel::error, "cannot load NCCL, for which 'crossrail run --nccl' or 'crossrail lib --nccl' was called: %s", dlerror());
  else log_line(LogLevel::plan, "NCCL is %s", file);
  return library;
}

// `file` matters only the first time.
void* library(const char* file) {
  static void* const loaded = open_library(file);
  return loaded;
}

Real find_functions() {
  Real functions;
#define REAL(result, name, ...) functions.name = reinterpret_cast<decltype(functions.name)>(real_function(#name));
#include "nccl/real.def"
#undef REAL
  return functions;
}

}  // namespace

void load_real(const char* file) { (void)library(file); }

// Everybody comes by a name of the shim, which has the library loaded first.
void* real_function(const char* name) {
  void* const loaded = library(nullptr);
  return loaded == nullptr ? nullptr : dlsym(loaded, name);
}

const Real& real() {
  static const Real functions = find_functions();
  return functions;
}

}  // namespace crossrail::nccl
