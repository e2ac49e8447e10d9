// All requests of ours that the program has in its hands, by their handles. Looking one up takes no lock.
#pragma once

#include <atomic>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

class OurRequest;

// A request of the MPI library's that stands for a call of ours.
struct LiveRequest {
  MPI_Request request;
  std::atomic<OurRequest*> call{nullptr};  // null: for none at present
};

// From when MPI has made the request until it has freed it.
void remember_request(LiveRequest& live);
void forget_request(const LiveRequest& live);
// Null: it is none of ours.
LiveRequest* find_live_request(MPI_Request request);
OurRequest* find_request(MPI_Request request);
bool any_requests();

}  // namespace crossrail::mpi
