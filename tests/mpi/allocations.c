/* Once warmed up, crossrail allocates nothing for a call of MPI_Alltoallv or MPI_Alltoallw. The program counts the calls of malloc and operator new
 * that come from crossrail's library.
 *
 *   allocations CALLS */
#include "check.h"
#include "from_crossrail.h"

enum { kBlock = 40, kMost = 16 };

static _Thread_local int counting; /* It is off in the thread that writes reports. */
static int allocations;

static void note(const void* caller) {
  if (!counting) return;
  counting = 0;
  if (from_crossrail(caller)) ++allocations;
  counting = 1;
}

void* malloc(size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
/* These are operator new and new[] of C++. */
void* _Znwm(size_t bytes);
void* _Znwm(size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* _Znam(size_t bytes);
void* _Znam(size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_malloc(bytes);
}

static int send[kMost * kBlock * 2], recv[kMost * kBlock * 2];
static int counts[kMost], places[kMost], byte_places[kMost];
static MPI_Datatype plain[kMost], spaced[kMost];

static void calls(int number_of_calls) {
  for (int i = 0; i < number_of_calls; ++i) {
    MPI_OK(MPI_Alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, MPI_COMM_WORLD));
    MPI_OK(MPI_Alltoallv(send, counts, places, spaced[0], recv, counts, places, MPI_INT, MPI_COMM_WORLD));
    MPI_OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, recv, counts, places, MPI_INT, MPI_COMM_WORLD));
    MPI_OK(MPI_Alltoallw(send, counts, byte_places, plain, recv, counts, byte_places, spaced, MPI_COMM_WORLD));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int number_of_calls = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Datatype gaps;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < kMost; ++i) {
    counts[i] = kBlock;
    places[i] = i * kBlock;
    byte_places[i] = i * kBlock * 2 * (int)sizeof(int);
    plain[i] = MPI_INT;
    spaced[i] = gaps;
  }
  calls(20);
  counting = 1;
  calls(number_of_calls);
  counting = 0;
  CHECK(allocations == 0, "%d allocations in %d calls", allocations, 4 * number_of_calls);
  MPI_Type_free(&gaps);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
