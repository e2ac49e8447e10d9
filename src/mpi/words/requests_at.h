// RequestsAt lets code that cannot include mpi.h look at the program's requests as words.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

Word64 read_c_handle(Word64 address, int index);

// There are `count` requests at `address`, each of which is read as the word of a C handle.
struct RequestsAt {
  int count;
  Word64 address;
  Word64 (*read)(Word64 address, int index) = read_c_handle;
  Word64 operator[](int index) const { return read(address, index); }
};

}  // namespace crossrail::mpi
