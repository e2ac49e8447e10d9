// These are the ways in which functions of MPI_T give what they are asked for. A value is not asked for if its address is null.
#pragma once

#include <cstring>
#include <vector>

#include "mpi/library/arguments.h"

namespace crossrail::mpi {

template <class Value>
void give(Word64 address, Value value) {
  if (address != 0) *reinterpret_cast<Value*>(address) = value;
}

// Gives a text in as many characters as there is room for, and says how many it needs.
inline void give_text(Word64 address, Word64 length_address, const char* text) {
  auto* const length = reinterpret_cast<int*>(length_address);
  auto* const out = reinterpret_cast<char*>(address);
  if (length == nullptr) return;
  if (out != nullptr && *length > 0) {
    std::strncpy(out, text, static_cast<std::size_t>(*length));
    out[*length - 1] = '\0';
  }
  *length = static_cast<int>(std::strlen(text)) + 1;
}

// These are addresses of ours that serve as handles. Nothing is allocated for a handle, and an MPI library has no handle like them.
class Marks {
 public:
  explicit Marks(std::size_t count) : marks_(count) {}
  Word64 at(int which) const { return reinterpret_cast<Word64>(marks_.data() + which); }
  int which(Word64 handle) const {
    const Word64 from = handle - at(0);
    return from >= 0 && from < static_cast<Word64>(marks_.size()) ? static_cast<int>(from) : -1;
  }

 private:
  std::vector<char> marks_;
};

}  // namespace crossrail::mpi
