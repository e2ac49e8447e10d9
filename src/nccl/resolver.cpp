// This is where names of a shim come at their first call, and what `crossrail run` calls to have a shim written.

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "crossrail/crossrail.h"
#include "nccl/calls.h"
#include "nccl/entry_points.h"
#include "nccl/real.h"
#include "nccl/shim.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace crossrail::nccl {
namespace {

// The NCCL library that is there now has fewer names than the one for which the shim was written, or is not there at all.
void say_missing() {
  if (first_time("a missing function of NCCL")) log_line(LogLevel::error, "the program calls a function that its NCCL library does not have");
}
Result missing() {
  say_missing();
  return Result::system_error;
}
const char* missing_text() {
  say_missing();
  return "NCCL is not there";
}
void* missing_function(const char* name) {
  const bool gives_text = std::strstr(name, "ncclGetErrorString") != nullptr || std::strstr(name, "ncclGetLastError") != nullptr;
  return gives_text ? reinterpret_cast<void*>(missing_text) : reinterpret_cast<void*>(missing);
}

void* function_of(const char* name) {
  void* const theirs = real_function(name);
  if (theirs == nullptr) return missing_function(name);
  void* const ours = process_settings().enabled == 0 ? nullptr : own_function(name);
  return ours == nullptr ? theirs : ours;
}

// It says at the end of the process what has become of its calls.
struct Report {
  ~Report() {
    const std::uint64_t handled = counts().handled.load(), left = counts().left();
    if (handled + left == 0) return;
    log_line(LogLevel::plan, "of NCCL's collectives and messages that this process has called, crossrail has handled %llu and left %llu to NCCL",
             static_cast<unsigned long long>(handled), static_cast<unsigned long long>(left));
    for (int why = 0; why < kWhys; ++why) {
      const std::uint64_t some = counts().left_by[why].load();
      if (some > 0) log_line(LogLevel::plan, "left to NCCL: %llu %s", static_cast<unsigned long long>(some), text_of(static_cast<Why>(why)));
    }
  }
};
const Report report;

}  // namespace
}  // namespace crossrail::nccl

extern "C" {
// Returns where the call goes on, and notes it in the word of the shim, which was written for the NCCL at `nccl`.
__attribute__((used, visibility("hidden"))) void* crossrail_nccl_resolved(const char* name, void** word, const char* nccl) {
  crossrail::nccl::load_real(nccl);
  void* const function = crossrail::nccl::function_of(name);
  std::atomic_ref<void*>(*word).store(function, std::memory_order_release);
  return function;
}
}

#ifdef __x86_64__
// Shims jump here with r10, r11 and rax as shim.cpp says, and with the arguments of a function of NCCL's in place: pointers, integers and structures in
// memory.
asm(R"(
  .text
  .globl crossrail_nccl_resolve
  .type crossrail_nccl_resolve, @function
crossrail_nccl_resolve:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  movq %r10, %rdi
  movq %r11, %rsi
  movq %rax, %rdx
  call crossrail_nccl_resolved
  movq %rax, %r11
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
  .size crossrail_nccl_resolve, .-crossrail_nccl_resolve
)");
#endif

CROSSRAIL_VISIBLE void crossrail_nccl_counts(std::uint64_t* handled, std::uint64_t* left) {
  *handled = crossrail::nccl::counts().handled.load();
  *left = crossrail::nccl::counts().left();
}

// Writes a shim for the NCCL library in `real` to `path`. Returns null, or a sentence that says why it could not.
CROSSRAIL_VISIBLE const char* crossrail_nccl_write_shim(const char* real, const char* path) {
  static thread_local std::string wrong;
  Dl_info here{};
  std::vector<std::string> names;
  crossrail::Status status = crossrail::nccl::read_names(real, names);
  const bool placed = dladdr(reinterpret_cast<const void*>(&crossrail_nccl_write_shim), &here) != 0;
  if (status.ok() && !placed) status = crossrail::failed(crossrail::Code::system, "this library has no path");
  if (status.ok()) status = crossrail::nccl::write_shim(path, {here.dli_fname, real}, names);
  if (status.ok()) return nullptr;
  wrong = status.what;
  return wrong.c_str();
}
