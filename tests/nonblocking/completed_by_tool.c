/* Exchanges are started by MPI's names and completed by its PMPI_ ones, as tools and MPICH's Fortran 2008 module do, and then by the MPI library's
 * own functions, where nothing that is wrapped helps.
 *
 *   completed_by_tool [threads] */
#include <dlfcn.h>

#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "host.h"

enum { kSeconds = 30, kAtOnce = 3, kTag = 9 };

typedef void (*Complete)(int count, MPI_Request* requests);

static int library_only;

static void* function(const char* name) {
  Dl_info where;
  if (!library_only) return dlsym(RTLD_DEFAULT, name);
  dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"), &where);
  return dlsym(dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
}
#define PMPI(name)                                                          \
  ({                                                                        \
    static __typeof__(&PMPI_##name) found[2];                               \
    if (found[library_only] == NULL) found[library_only] = function("PMPI_" #name); \
    found[library_only];                                                    \
  })

static void by_wait(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) MPI_OK(PMPI(Wait)(&requests[i], MPI_STATUS_IGNORE));
}
static void by_waitall(int count, MPI_Request* requests) { MPI_OK(PMPI(Waitall)(count, requests, MPI_STATUSES_IGNORE)); }
static void by_waitany(int count, MPI_Request* requests) {
  int index = 0;
  for (int i = 0; i < count; ++i) MPI_OK(PMPI(Waitany)(count, requests, &index, MPI_STATUS_IGNORE));
  MPI_OK(PMPI(Waitany)(count, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == MPI_UNDEFINED, "after all have ended Waitany gives %d", index);
}
static void by_waitsome(int count, MPI_Request* requests) {
  int done = 0, indices[2 * kAtOnce];
  for (int left = count; left > 0; left -= done) {
    MPI_OK(PMPI(Waitsome)(count, requests, &done, indices, MPI_STATUSES_IGNORE));
    if (done <= 0) break;
  }
}
static void by_test(int count, MPI_Request* requests) {
  for (int i = 0, done; i < count; ++i) {
    for (done = 0; !done;) MPI_OK(PMPI(Test)(&requests[i], &done, MPI_STATUS_IGNORE));
  }
}
static void by_testall(int count, MPI_Request* requests) {
  for (int done = 0; !done;) MPI_OK(PMPI(Testall)(count, requests, &done, MPI_STATUSES_IGNORE));
}
static void by_testany(int count, MPI_Request* requests) {
  int index = 0;
  for (int i = 0, done; i < count; ++i) {
    for (done = 0; !done;) MPI_OK(PMPI(Testany)(count, requests, &index, &done, MPI_STATUS_IGNORE));
  }
}
static void by_testsome(int count, MPI_Request* requests) {
  int done = 0, indices[2 * kAtOnce];
  for (int left = count; left > 0; left -= done) {
    MPI_OK(PMPI(Testsome)(count, requests, &done, indices, MPI_STATUSES_IGNORE));
    if (done < 0) break;
  }
}
static void by_get_status(int count, MPI_Request* requests) {
  for (int i = 0, done; i < count; ++i) {
    for (done = 0; !done;) MPI_OK(PMPI(Request_get_status)(requests[i], &done, MPI_STATUS_IGNORE));
  }
  by_wait(count, requests);
}

/* MPI_Waitall does not work on unfinished generalized requests under MPICH 5.0. */
static int waitall_works(void) { return !library_only || mpich_major() != 5; }
/* MPICH 4.0 answers without polling generalized requests. */
static int get_status_works(void) { return !library_only || mpich_major() != 4; }

static int works(Complete way) {
  if (way == by_waitall) return waitall_works();
  return way != by_get_status || get_status_works();
}

static const struct {
  const char* name;
  Complete complete;
} kWays[] = {{"PMPI_Wait", by_wait},         {"PMPI_Waitany", by_waitany}, {"PMPI_Waitsome", by_waitsome}, {"PMPI_Test", by_test},
             {"PMPI_Testall", by_testall},   {"PMPI_Testany", by_testany}, {"PMPI_Testsome", by_testsome}, {"PMPI_Waitall", by_waitall},
            {"PMPI_Request_get_status", by_get_status}};
enum { kWayCount = sizeof kWays / sizeof kWays[0] };

/* Starts exchanges and as many receives of the program's own. Rank 0 comes late, so that others wait in earnest. */
static void one_case(MPI_Comm comm, Complete complete, int count, int salt) {
  Exchange exchanges[kAtOnce];
  MPI_Request requests[2 * kAtOnce];
  int got[kAtOnce], sent[kAtOnce];
  const int rank = rank_in(comm), next = (rank + 1) % size_of_comm(comm);
  if (rank == 0) usleep(salt % 3 * 1000);
  for (int i = 0; i < kAtOnce; ++i) {
    begin_exchange(&exchanges[i], comm, i % kForms, count, salt + i);
    requests[2 * i] = exchanges[i].request;
    MPI_OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, kTag + i, comm, &requests[2 * i + 1]));
  }
  for (int i = 0; i < kAtOnce; ++i) {
    sent[i] = salt + i;
    MPI_OK(MPI_Send(&sent[i], 1, MPI_INT, next, kTag + i, comm));
  }
  complete(2 * kAtOnce, requests);
  for (int i = 0; i < 2 * kAtOnce; ++i) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
  for (int i = 0; i < kAtOnce; ++i) {
    CHECK(got[i] == salt + i, "received %d, not %d", got[i], salt + i);
    exchanges[i].request = requests[2 * i];
    end_exchange(&exchanges[i], "completed by PMPI");
  }
}

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 500, 20000};
  int provided = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  for (int way = 0; way < 2 * kWayCount; ++way) {
    const Complete complete = kWays[way % kWayCount].complete;
    library_only = way >= kWayCount;
    for (int round = 0; round < 20 && works(complete); ++round) {
      begin_case(kSeconds, "%s%s, %d ints, round %d", kWays[way % kWayCount].name, library_only ? " of the library" : "",
                 counts[round % 4], round);
      one_case(MPI_COMM_WORLD, complete, counts[round % 4], 10 * round);
    }
  }
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
