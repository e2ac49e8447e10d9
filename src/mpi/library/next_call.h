// NextCall calls the next definition of an interposed name: another tool's, or the MPI library's.
#pragma once

#include "base/on_stack.h"
#include "base/settings.h"
#include "mpi/library/library.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// MPI_ERR_OTHER of every flavour is small and positive; used only where no MPI library exists.
inline constexpr Word64 kNoLibrary = 16;

// While the next definition of a name is called for the program: what it calls by PMPI_ names, as tools and Fortran's forms
// do, is that same call.
class InNextCall : public OnStack<InNextCall> {
 public:
  InNextCall() = default;
  // Asked by an entry point.
  [[gnu::always_inline]] static bool is_there() { return count(__builtin_frame_address(0)) > 0; }
};

class NextCall {
 public:
  explicit NextCall(const char* name) : name_(name) {}

  // By a PMPI_ name, and to be handed on: CROSSRAIL_PMPI says so, or ...
  bool left_to_mpi() const { return name_[0] == 'P' && process_settings().pmpi == 0; }
  // ... it is within the next definition of another one.
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
