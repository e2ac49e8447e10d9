// Requests of the program, and how it has got them.
#pragma once

#include <cstdint>

#include "base/trace.h"
#include "mpi/interpose/carry.h"

namespace crossrail::mpi {

class CallCounter;

Word64 read_c_handle(Word64 address, int index);

// Requests of the program: so many at this address, each read as the word of a C handle.
struct RequestsAt {
  int count;
  Word64 address;
  Word64 (*read)(Word64 address, int index) = read_c_handle;
  Word64 operator[](int index) const { return read(address, index); }
};

enum class Form { nonblocking, persistent };

// A function that makes requests, and when it was called.
struct Made {
  CallCounter& counter;
  Form form;
  std::int64_t began_ns;
  trace::Number traced;
};
}  // namespace crossrail::mpi
