// These functions find out which ranks are on one host by the hosts' names,
// because MPI_COMM_TYPE_SHARED may separate all processes, as in some containers.
#pragma once

#include <vector>

namespace bench {

// Returns, for each rank of MPI_COMM_WORLD, the lowest rank on its host. Collective.
std::vector<int> first_on_host();

// Returns how many ranks with lower numbers are on this rank's host.
int local_rank(const std::vector<int>& first_on_host, int rank);

}  // namespace bench
