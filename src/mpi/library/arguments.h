// These functions convert between the machine words of a call and its arguments.
#pragma once

#include <type_traits>

#include "mpi/library/flavour.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// Reads a handle out of an argument word. A handle is a pointer, or an int in the lower half of the word.
template <class Handle>
Handle handle_from(Word64 word) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(word);
  } else {
    return static_cast<Handle>(word);
  }
}

// This is the reverse of handle_from.
template <class Argument>
Word64 word_of(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return reinterpret_cast<Word64>(argument);
  } else {
    return static_cast<Word64>(argument);
  }
}

inline long long count_from(Word64 word, bool large_counts) {
  return large_counts ? static_cast<long long>(word) : static_cast<long long>(static_cast<int>(word));
}

// Numbers is an array of counts or displacements, one for each rank. They are int, or MPI_Count and MPI_Aint, which have 64 bits.
class Numbers {
 public:
  Numbers() = default;
  Numbers(Word64 address, bool large)
      : small_(large ? nullptr : reinterpret_cast<const int*>(address)),
        large_(large ? reinterpret_cast<const std::int64_t*>(address) : nullptr) {}
  bool given() const { return small_ != nullptr || large_ != nullptr; }
  std::int64_t operator[](int rank) const { return small_ != nullptr ? small_[rank] : large_[rank]; }
  // Equal means the same array: MPICH refuses two sides that are the same.
  bool operator==(const Numbers&) const = default;

 private:
  const int* small_ = nullptr;
  const std::int64_t* large_ = nullptr;
};
static_assert(sizeof(MPI_Aint) == sizeof(std::int64_t) && sizeof(MPI_Count) == sizeof(std::int64_t));

}  // namespace crossrail::mpi
