/* Hosts of a cluster on one machine are seen as different ones: by MPI, by their names, and by the bytes on their network. Rank 0 prints the ranks of
 * every host.
 *
 *   hosts 2,2 */
#include <ctype.h>
#include <sched.h>
#include <unistd.h>

#include "check.h"

enum { kHosts = 64, kBytes = 4 << 20 };

/* Returns the bytes that this host has sent through interfaces that begin with `name`. */
static double sent_bytes(const char* name) {
  FILE* file = fopen("/proc/self/net/dev", "r");
  char line[512];
  double sum = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char* start = line;
    while (isspace((unsigned char)*start)) ++start;
    char* colon = strchr(start, ':');
    double sent = 0;
    if (colon == NULL || strncmp(start, name, strlen(name)) != 0) continue;
    if (sscanf(colon + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %lf", &sent) == 1) sum += sent;
  }
  if (file != NULL) fclose(file);
  return sum;
}

/* Sends kBytes from `from` to `to`. Returns what `from`'s host sent by its network meanwhile, and -1 elsewhere. */
static double network_bytes(MPI_Comm comm, int from, int to) {
  char* data = calloc(kBytes, 1);
  const int rank = rank_in(comm);
  MPI_OK(MPI_Barrier(comm));
  const double before = sent_bytes("");
  if (rank == from) MPI_OK(MPI_Send(data, kBytes, MPI_CHAR, to, 3, comm));
  if (rank == to) MPI_OK(MPI_Recv(data, kBytes, MPI_CHAR, from, 3, comm, MPI_STATUS_IGNORE));
  MPI_OK(MPI_Barrier(comm));
  free(data);
  return rank == from ? sent_bytes("") - before : -1;
}

/* Turns "3,1" into {3, 1}. Returns the number of hosts. */
static int expected_ranks(char* text, int* ranks) {
  int hosts = 0;
  for (char* word = strtok(text, ","); word != NULL && hosts < kHosts; word = strtok(NULL, ",")) ranks[hosts++] = atoi(word);
  return hosts;
}

/* Checks whether all ranks of `comm` have the same host name, or all different ones. */
static void compare_names(MPI_Comm comm, int same) {
  char mine[128] = {0}, *all = calloc((size_t)size_of_comm(comm), sizeof mine);
  gethostname(mine, sizeof mine - 1);
  MPI_OK(MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, comm));
  for (int i = 0; i < size_of_comm(comm); ++i) {
    if (i == rank_in(comm)) continue;
    CHECK((strcmp(mine, all + i * (int)sizeof mine) == 0) == same, "%s and %s", mine, all + i * (int)sizeof mine);
  }
  free(all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int expected[kHosts], host = 0, first = 0;
  const int rank = rank_in(MPI_COMM_WORLD), hosts = expected_ranks(argv[argc - 1], expected);
  while (host < hosts && rank >= first + expected[host]) first += expected[host++];
  MPI_Comm node, leaders;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  CHECK(host < hosts && size_of_comm(node) == expected[host], "rank %d: %d ranks share its memory", rank, size_of_comm(node));
  CHECK(rank_in(node) == rank - first, "rank %d is number %d of its host", rank, rank_in(node));
  compare_names(node, 1);
  MPI_Comm_split(MPI_COMM_WORLD, rank_in(node) == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  if (leaders != MPI_COMM_NULL) {
    CHECK(size_of_comm(leaders) == hosts, "%d hosts, not %d", size_of_comm(leaders), hosts);
    compare_names(leaders, 0);
    const double out = network_bytes(leaders, 0, hosts - 1);
    CHECK(out < 0 || hosts == 1 || out > kBytes, "only %.0f bytes went to another host by the network", out);
  }
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (size_of_comm(node) > 1 && host == 0) {
    const double within = network_bytes(node, 0, 1);
    CHECK(within < kBytes / 2, "%.0f bytes went by the network within a host", within);
  }
  for (int i = 0; i < 50; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 1 + i * i, i));
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
