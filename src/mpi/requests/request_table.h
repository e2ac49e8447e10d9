// The table holds all requests of ours that the program has, by their handles. A look-up takes no lock.
#pragma once

#include <atomic>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

class OurRequest;

// A LiveRequest is an MPI request that stands for a call of ours.
struct LiveRequest {
  MPI_Request request;
  std::atomic<OurRequest*> call{nullptr};  // It is null while the request stands for no call.
};

// The table knows a request from when MPI has made it until MPI has freed it.
void remember_request(LiveRequest& live);
void forget_request(const LiveRequest& live);
// Returns null if the request is none of ours.
LiveRequest* find_live_request(MPI_Request request);
OurRequest* find_request(MPI_Request request);
bool any_requests();

}  // namespace crossrail::mpi
