// NextCall calls the next definition of an exported name: another tool's, or the MPI library's.
#pragma once

#include "base/on_stack.h"
#include "base/settings.h"
#include "mpi/library/library.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// MPI_ERR_OTHER is small and positive in every flavour. This is used only if there is no MPI library.
inline constexpr Word64 kNoLibrary = 16;

// This object exists while the next definition of a name is called for the program. If that calls PMPI_ names, as tools and Fortran's bindings do, it
// is still the same call.
class InNextCall : public OnStack<InNextCall> {
 public:
  InNextCall() = default;
  // Entry points ask this. It must be inlined into them, because it compares with their stack frame.
  [[gnu::always_inline]] static bool is_there() { return count(__builtin_frame_address(0)) > 0; }
};

class NextCall {
 public:
  explicit NextCall(const char* name) : name_(name) {}

  // Returns whether this is a PMPI_ name that is always handed on, as CROSSRAIL_PMPI says.
  bool left_to_mpi() const { return name_[0] == 'P' && process_settings().pmpi == 0; }
  // Returns whether this call is handed on because it is part of another one, or always.
  [[gnu::always_inline]] bool is_nested() const { return name_[0] == 'P' && (InNextCall::is_there() || left_to_mpi()); }

  template <class... Words>
  Word64 operator()(Words... words) {
    void* next = __atomic_load_n(&next_, __ATOMIC_ACQUIRE);
    if (next == nullptr) {
      next = next_function(name_);
      if (next == nullptr) return kNoLibrary;
      __atomic_store_n(&next_, next, __ATOMIC_RELEASE);
    }
    return reinterpret_cast<Word64 (*)(Words...)>(next)(words...);
  }
  const char* name() const { return name_; }

 private:
  const char* name_;
  void* next_ = nullptr;
};

}  // namespace crossrail::mpi
