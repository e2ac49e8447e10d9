/* Communicators come and go by the thousand. Descriptors, mappings and memory must not grow, and many live communicators must work.
 *
 *   many_communicators LIVE SHORT_LIVED [KB]   KB: that all the short-lived may leave; otherwise half of one each */
#include <dirent.h>
#include <unistd.h>

#include "check.h"

enum { kMostLive = 1000 };

typedef struct {
  long descriptors, mappings, resident_kb;
} Use;

static Use use_now(void) {
  Use use = {0, 0, 0};
  DIR* folder = opendir("/proc/self/fd");
  while (folder != NULL && readdir(folder) != NULL) ++use.descriptors;
  closedir(folder);
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) ++use.mappings;
  fclose(maps);
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmRSS: %ld", &use.resident_kb);
  fclose(status);
  return use;
}

static void live(int number_of_live) {
  static MPI_Comm comms[kMostLive];
  for (int i = 0; i < number_of_live; ++i) {
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    MPI_OK(checked_alltoall(comms[i], 2, i));
  }
  for (int i = number_of_live - 1; i >= 0; --i) MPI_OK(checked_alltoall(comms[i], i % 3, i));
  for (int i = 0; i < number_of_live; ++i) {
    MPI_OK(MPI_Comm_free(&comms[(i * 7) % number_of_live]));
  }
}

static void short_lived(int i) {
  MPI_Comm comm;
  if (i % 2 == 0) {
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  } else {
    MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) % 2, 0, &comm));
  }
  MPI_OK(checked_alltoall(comm, 1 + i % 5, i));
  if (i % 10 == 0) MPI_OK(checked_alltoall(comm, 3000, i));
  MPI_OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int live_count = argc > 1 ? atoi(argv[1]) : 100;
  const int short_count = argc > 2 ? atoi(argv[2]) : 1000;
  const int left_kb = argc > 3 ? atoi(argv[3]) : short_count / 2;
  if (live_count > 0) live(live_count);
  for (int i = 0; i < short_count / 5; ++i) short_lived(i);
  MPI_Barrier(MPI_COMM_WORLD);
  const Use before = use_now();
  for (int i = 0; i < short_count; ++i) short_lived(i);
  MPI_Barrier(MPI_COMM_WORLD);
  const Use after = use_now();
  printf("rank %d: descriptors %ld > %ld, mappings %ld > %ld, resident %ld > %ld KB\n", rank_in(MPI_COMM_WORLD),
         before.descriptors, after.descriptors, before.mappings, after.mappings, before.resident_kb, after.resident_kb);
  CHECK(after.descriptors <= before.descriptors + 2, "descriptors leak");
  CHECK(after.mappings <= before.mappings + 10, "mappings leak");
  CHECK(after.resident_kb <= before.resident_kb + 4096 + left_kb, "memory leaks"); /* What MPI itself keeps is small. */
  const int result = verdict();
  MPI_Finalize();
  return result;
}
