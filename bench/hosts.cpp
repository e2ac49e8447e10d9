#include "hosts.h"

#include <mpi.h>

#include <algorithm>
#include <map>
#include <string>

namespace bench {

std::vector<int> first_on_host() {
  int ranks = 1, length = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  MPI_Get_processor_name(host, &length);
  std::vector<char> hosts(static_cast<std::size_t>(ranks) * MPI_MAX_PROCESSOR_NAME);
  PMPI_Allgather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD);
  std::map<std::string, int> first;
  std::vector<int> found;
  for (int rank = 0; rank < ranks; ++rank) {
    found.push_back(first.emplace(&hosts[static_cast<std::size_t>(rank) * MPI_MAX_PROCESSOR_NAME], rank).first->second);
  }
  return found;
}

int local_rank(const std::vector<int>& first_on_host, int rank) {
  const auto own = first_on_host.begin() + rank;
  return static_cast<int>(std::count(first_on_host.begin(), own, *own));
}

}  // namespace bench
