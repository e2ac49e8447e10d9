// These functions make persistent calls, which some MPI libraries lack and some have under another name.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "calls.h"
#include "replay_player.h"

namespace bench::replay {
namespace {

template <class Function>
Function found(const char* name, bool native) {
  void* const function = persistent_function(name, native);
  if (function == nullptr) {
    std::fprintf(stderr, "bench: this MPI library has no MPI_%s, which was recorded\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    std::abort();
  }
  return reinterpret_cast<Function>(function);
}

using Alltoall = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
using Alltoallv = int (*)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
using Alltoallw = int (*)(const void*, const int*, const int*, const MPI_Datatype*, void*, const int*, const int*, const MPI_Datatype*, MPI_Comm, MPI_Info,
                          MPI_Request*);
using Allreduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);

}  // namespace

int Player::init(const Event& event, const Prepared& ready, Call& one) {
  const Side &out = event.in_place && event.kind != kAllreduce ? ready.received : ready.sent, &in = ready.received;
  const void* const from = data_.sent(one.event, one.buffers);
  void* const to = data_.received(one.event, one.buffers);
  const MPI_Comm comm = comms_[event.comm];
  switch (event.kind) {
    case kAlltoall:
      return found<Alltoall>("Alltoall_init", native_)(from, out.counts[0], out.types[0], to, in.counts[0], in.types[0], comm, MPI_INFO_NULL, &one.request);
    case kAlltoallv:
      return found<Alltoallv>("Alltoallv_init", native_)(from, out.counts.data(), out.places.data(), out.one_type(), to, in.counts.data(), in.places.data(),
                                                         in.one_type(), comm, MPI_INFO_NULL, &one.request);
    case kAlltoallw:
      return found<Alltoallw>("Alltoallw_init", native_)(from, out.counts.data(), out.places.data(), out.types.data(), to, in.counts.data(),
                                                         in.places.data(), in.types.data(), comm, MPI_INFO_NULL, &one.request);
    default:
      return found<Allreduce>("Allreduce_init", native_)(from, to, in.counts[0], in.types[0], ready.op, comm, MPI_INFO_NULL, &one.request);
  }
}

}  // namespace bench::replay
