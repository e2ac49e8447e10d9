// All requests of ours that the program has in its hands, by their handles. Looking one up takes no lock.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

class OurRequest;

// From when the program gets the handle until it gives it back.
void remember_request(MPI_Request request, OurRequest& ours);
void forget_request(MPI_Request request);
// Null: it is none of ours.
OurRequest* find_request(MPI_Request request);
bool any_requests();

}  // namespace crossrail::mpi
