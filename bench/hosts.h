// Which ranks are on one host, by the hosts' names: MPI_COMM_TYPE_SHARED may see each process alone, as in some containers.
#pragma once

#include <vector>

namespace bench {

// Of each rank of MPI_COMM_WORLD, the lowest one on its host. Collective.
std::vector<int> first_on_host();

// How many ranks with lower numbers are on this rank's host.
int local_rank(const std::vector<int>& first_on_host, int rank);

}  // namespace bench
