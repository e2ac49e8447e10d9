// Calls that go to the MPI library on buffers in device memory of which it knows nothing: it gets copies in host memory.
// Whether other ranks do the same does not matter.
#pragma once

#include <array>

#include "device/device.h"
#include "mpi/interpose/carry.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/library/library.h"

namespace crossrail::mpi {

struct CopiedSide {
  Span span;
  SideParts parts;
};

// The addresses of a call's two sides among its words, with what they touch; empty where there is nothing to send.
struct SidesOfCall {
  CopiedSide sent, received;
  std::size_t send_word, receive_word, last_word;  // the last is the request, of those that have one
  MPI_Comm comm;
  bool reduces;
};
template <class Call>
SidesOfCall sides_of(const Call& call, const typename Call::Facts& facts, std::size_t last_word) {
  constexpr bool kReduces = requires { call.has_own_operation(); };
  return {{call.span_sent(facts), call.parts_sent(facts)}, {call.span_received(facts), call.parts_received(facts)}, 0, Call::kReceiveWord, last_word, call.comm(), kReduces};
}

struct NativeCall {
  const char* function;
  const Word64* words;
};

// Calls the function of this name with copies of what is in device memory. Not done if no side is there. An error where there is no memory
// for copies: the MPI library cannot have the call without.
void call_on_copies(const NativeCall& native, const SidesOfCall& sides, Carried& carried);
// Starts the function of this name with copies of what is in device memory, and puts a request for it where the
// program wants it. As above.
Carried start_on_copies(const char* function, const Word64* words, const SidesOfCall& sides);

// A blocking call that the MPI library is to carry, on device memory of which that may know nothing: it gets copies.
template <class Call>
void carry_copies(const NativeCall& native, const Call& call, const typename Call::Facts& facts, Carried& carried) {
  if (!device::driver_present() || mpi_takes_device_memory()) return;
  call_on_copies(native, sides_of(call, facts, Call::kWords - 1), carried);
}

// Completes those whose exchange is over; how many. For the MPI library's progress.
int advance_copied_calls();
bool any_copied_calls();
// Whether it stands for one whose exchange is not over.
bool is_copied_call_under_way(MPI_Request request);
// For MPI_Waitall of MPICH, which cannot wait for those whose exchange is not over.
void await_copied_calls(const MPI_Request* requests, int count);

}  // namespace crossrail::mpi
