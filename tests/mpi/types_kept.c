/* The program checks what happens to its types. A call on them calls no callback of their attributes, even one that would refuse, and a type may be
 * freed while a nonblocking or a persistent call uses it. A type lies where this MPI library says, whatever one would think. */
#include "../nonblocking/persistent.h"
#include "check.h"

enum { kInts = 20, kRounds = 40, kMostRanks = 4, kStep = 8 };

static int rank, size, copies;
static int refuse(MPI_Datatype type, int keyval, void* extra, void* value, void* copy, int* flag) {
  (void)type, (void)keyval, (void)extra, (void)value, (void)copy;
  ++copies;
  *flag = 1;
  return MPI_ERR_OTHER;
}

/* The type has every second int. */
static MPI_Datatype with_attribute(int keyval) {
  MPI_Datatype spread, type;
  MPI_OK(MPI_Type_vector(kInts, 1, 2, MPI_INT, &spread));
  MPI_OK(MPI_Type_create_resized(spread, 0, 2 * kInts * (MPI_Aint)sizeof(int), &type));
  MPI_OK(MPI_Type_free(&spread));
  MPI_OK(MPI_Type_commit(&type));
  MPI_OK(MPI_Type_set_attr(type, keyval, &copies));
  return type;
}

static int send[kMostRanks * 2 * kInts], recv[kMostRanks * 2 * kInts];

/* The type is freed between the beginning of the call and its end, and another one takes its place. */
static void round_of(int keyval, int number, int persistent) {
  MPI_Datatype type = with_attribute(keyval), other;
  MPI_Request request;
  for (int i = 0; i < size * 2 * kInts; ++i) send[i] = rank * 100000 + number * 1000 + i;
  for (int i = 0; i < size * 2 * kInts; ++i) recv[i] = -1;
#if HAVE_PERSISTENT
  if (persistent) MPI_OK(MPI_Alltoall_init(send, 1, type, recv, 1, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
#endif
  if (!persistent) MPI_OK(MPI_Ialltoall(send, 1, type, recv, 1, type, MPI_COMM_WORLD, &request));
  MPI_OK(MPI_Type_free(&type));
  MPI_OK(MPI_Type_contiguous(7, MPI_INT, &other));
  MPI_OK(MPI_Type_commit(&other));
  if (persistent) MPI_OK(MPI_Start(&request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (persistent) MPI_OK(MPI_Request_free(&request));
  MPI_OK(MPI_Type_free(&other));
  for (int i = 0; i < size * 2 * kInts; ++i) {
    const int peer = i / (2 * kInts), within = i % (2 * kInts);
    const int expected = within % 2 != 0 ? -1 : peer * 100000 + number * 1000 + rank * 2 * kInts + within;
    CHECK(recv[i] == expected, "round %d%s: %d instead of %d at %d", number, persistent ? ", persistent" : "", recv[i], expected, i);
  }
}

/* The bytes are backwards, a byte apart. Open MPI 4 lays them out otherwise. What comes is compared with what MPI_Unpack makes of the same bytes. */
static void backwards(void) {
  MPI_Datatype back, type;
  char from[kMostRanks * kStep * 2], packed[kMostRanks * kStep], expected[kMostRanks * kStep * 2], got[kMostRanks * kStep * 2];
  MPI_OK(MPI_Type_vector(kStep / 2, 1, -1, MPI_CHAR, &back));
  MPI_OK(MPI_Type_create_resized(back, 0, kStep, &type));
  MPI_OK(MPI_Type_commit(&type));
  for (int call = 0; call < 3; ++call) {
    for (int i = 0; i < (int)sizeof from; ++i) from[i] = (char)(rank * 37 + i + call);
    memset(expected, 'e', sizeof expected);
    memset(got, 'e', sizeof got);
    int at = 0, place = 0;
    for (int peer = 0; peer < size; ++peer) {
      char mine[kStep], its[kStep];
      int filled = 0;
      MPI_OK(MPI_Pack(from + kStep * (peer + 1), 1, type, mine, kStep, &filled, MPI_COMM_WORLD));
      MPI_OK(MPI_Sendrecv(mine, filled, MPI_PACKED, peer, 1, its, kStep, MPI_PACKED, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      memcpy(packed + at, its, (size_t)filled);
      at += filled;
    }
    MPI_OK(MPI_Unpack(packed, at, &place, expected + kStep, size, type, MPI_COMM_WORLD));
    MPI_OK(MPI_Alltoall(from + kStep, 1, type, got + kStep, 1, type, MPI_COMM_WORLD));
    CHECK(memcmp(got, expected, sizeof got) == 0, "bytes backwards, call %d: not where MPI_Unpack puts them", call);
  }
  MPI_OK(MPI_Type_free(&type));
  MPI_OK(MPI_Type_free(&back));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of_comm(MPI_COMM_WORLD);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_OK(MPI_Type_create_keyval(refuse, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
  for (int persistent = 0; persistent <= HAVE_PERSISTENT; ++persistent) {
    for (int number = 0; number < kRounds; ++number) round_of(keyval, number, persistent);
  }
  CHECK(copies == 0, "attributes copied %d times", copies);
  backwards();
  MPI_OK(MPI_Type_free_keyval(&keyval));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
