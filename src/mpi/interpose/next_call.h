// Calling the next definition of an interposed name, and counting the call.
#pragma once

#include "mpi/interpose/carry.h"
#include "mpi/statistics/counters.h"
#include "mpi/library/library.h"

namespace crossrail::mpi {

// MPI_ERR_OTHER of every flavour is small and positive; used only where no MPI library exists.
inline constexpr Word64 kNoLibrary = 16;

class NextCall {
 public:
  explicit NextCall(const char* name) : name_(name) {}

  template <class... Words>
  Word64 operator()(Words... words) {
    void* next = __atomic_load_n(&next_, __ATOMIC_ACQUIRE);
    if (next == nullptr) {
      next = next_symbol(name_);
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

// A call that crossrail does not carry.
template <class... Words>
Word64 pass(NextCall& next, CallCounter& counter, Words... words) {
  (void)library();  // says once if this is the wrong flavour
  if (!counting()) return next(words...);
  const std::int64_t began = now_ns();
  const Word64 code = next(words...);
  counter.add(Carried{}, now_ns() - began);
  return code;
}

}  // namespace crossrail::mpi
