/* Info keys make settings of one communicator, given in each of the ways that MPI has. MPI_Comm_get_info tells them.
 *
 *   info_keys          each communicator has the algorithm that its keys name, MPI_COMM_WORLD and plain duplicates the usual one
 *   info_keys session  the same for a communicator of a session
 *   info_keys wrong    keys that make no sense, and one that comes too late
 *   info_keys order    a communicator whose reductions are in the order of the ranks from its first call on, and others that are not */
#include "check.h"
#include <dlfcn.h>
#include <string.h>

static const char* (*last_algorithm)(void);

static void expect(MPI_Comm comm, const char* algorithm, const char* what) {
  int size = size_of_comm(comm), send[64], recv[64];
  for (int call = 0; call < 3; ++call) {
    for (int i = 0; i < size; ++i) send[i] = number(rank_in(comm), i, call);
    MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
    for (int i = 0; i < size; ++i) CHECK(recv[i] == number(i, rank_in(comm), call), "%s: wrong data", what);
    CHECK(strcmp(last_algorithm(), algorithm) == 0, "%s: %s, not %s", what, last_algorithm(), algorithm);
  }
}

static void expect_told(MPI_Comm comm, const char* value, const char* what) {
  MPI_Info told;
  char found[256] = "";
  int there = 0;
  MPI_OK(MPI_Comm_get_info(comm, &told));
  MPI_OK(MPI_Info_get(told, "crossrail_alltoall", 255, found, &there));
  CHECK(there == (value != NULL), "%s: told %d", what, there);
  if (value != NULL) CHECK(strcmp(found, value) == 0, "%s: '%s' is told", what, found);
  MPI_OK(MPI_Info_free(&told));
}

/* This is in MPI 4. The keys must be there as soon as the copy is complete, on a communicator that has been given others before. */
static void copied_without_waiting(MPI_Info info) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  MPI_Comm parent, copies[2], plain;
  MPI_Request requests[3];
  MPI_Info other;
  MPI_OK(MPI_Info_create(&other));
  MPI_OK(MPI_Info_set(other, "crossrail_alltoall", "linear"));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, other, &parent));
  MPI_OK(MPI_Comm_idup_with_info(parent, info, &copies[0], &requests[0]));
  MPI_OK(MPI_Comm_idup(parent, &plain, &requests[1]));
  MPI_OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, other, &copies[1], &requests[2]));
  MPI_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  expect_told(copies[0], "bruck", "idup_with_info");
  expect(copies[0], "bruck", "idup_with_info");
  expect(copies[1], "linear", "idup_with_info of the world");
  expect(plain, "pairwise", "idup");
  expect(parent, "linear", "the parent");
  MPI_OK(MPI_Comm_free(&plain));
  MPI_OK(MPI_Comm_free(&copies[1]));
  MPI_OK(MPI_Comm_free(&copies[0]));
  MPI_OK(MPI_Comm_free(&parent));
  MPI_OK(MPI_Info_free(&other));
#else
  (void)info;
#endif
}

static void of_a_session(void) {
#ifdef MPI_SESSION_NULL
  MPI_Session session;
  MPI_Group world;
  MPI_Info info;
  MPI_Comm comm;
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  MPI_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  MPI_OK(MPI_Info_create(&info));
  MPI_OK(MPI_Info_set(info, "crossrail_alltoall", "bruck"));
  MPI_OK(MPI_Comm_create_from_group(world, "crossrail", info, MPI_ERRORS_RETURN, &comm));
  expect(comm, "bruck", "create_from_group");
  expect_told(comm, "bruck", "create_from_group");
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Info_free(&info));
  MPI_OK(MPI_Group_free(&world));
  MPI_OK(MPI_Session_finalize(&session));
#endif
}

static void every_way(MPI_Info info) {
  MPI_Comm set, with, split, copy;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &set));
  MPI_OK(MPI_Comm_set_info(set, info));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with));
  MPI_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &split));
  expect_told(set, "bruck", "set_info");
  expect_told(with, "bruck", "dup_with_info");
  expect_told(split, "bruck", "split_type");
  expect_told(MPI_COMM_WORLD, NULL, "the world");
  expect(set, "bruck", "set_info");
  expect(with, "bruck", "dup_with_info");
  expect(split, "bruck", "split_type");
  expect(MPI_COMM_WORLD, "pairwise", "the world");
  MPI_OK(MPI_Comm_dup_with_info(with, MPI_INFO_NULL, &copy));
  expect(copy, "pairwise", "a copy with no info");
  MPI_OK(MPI_Comm_free(&copy));
  MPI_OK(MPI_Comm_free(&split));
  MPI_OK(MPI_Comm_free(&with));
  MPI_OK(MPI_Comm_free(&set));
}

/* Rank 0's hold for all. */
static void different_keys(MPI_Info info) {
  MPI_Comm comm;
  MPI_Info other;
  MPI_OK(MPI_Info_create(&other));
  MPI_OK(MPI_Info_set(other, "crossrail_alltoall", "linear"));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) == 0 ? info : rank_in(MPI_COMM_WORLD) == 1 ? other : MPI_INFO_NULL, &comm));
  expect(comm, "bruck", "different keys");
  expect_told(comm, "bruck", "different keys");
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Info_set(other, "crossrail", "off"));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, other, &comm));
  expect(comm, "native", "switched off");
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Info_free(&other));
}

static void wrong_keys(MPI_Info info) {
  MPI_Comm comm;
  MPI_OK(MPI_Info_set(info, "crossrail_alltoall", "brook"));
  MPI_OK(MPI_Info_set(info, "crossrail_altoall", "bruck"));
  MPI_OK(MPI_Info_set(info, "crossrail_scratch", "lots"));
  MPI_OK(MPI_Info_set(info, "crossrail_report", "x"));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  expect(comm, "pairwise", "wrong keys");
  expect_told(comm, NULL, "wrong keys");
  MPI_OK(MPI_Info_set(info, "crossrail_alltoall", "linear"));
  MPI_OK(MPI_Comm_set_info(comm, info));
  expect(comm, "pairwise", "a key that comes late");
  MPI_OK(MPI_Comm_free(&comm));
}

/* 1e16 + 1 is 1e16, so that ((-1e16 + 1) + 1e16) + ... shows who came when. */
static double in_order(int rank) { return rank % 3 == 0 ? -1e16 : rank % 3 == 1 ? 1 : 1e16; }

static void expect_order(MPI_Comm comm, const char* algorithm, int calls) {
  const int size = size_of_comm(comm);
  double mine[700], sum[700], expected = in_order(0);
  for (int rank = 1; rank < size; ++rank) expected += in_order(rank);
  for (int i = 0; i < 700; ++i) mine[i] = in_order(rank_in(comm));
  for (int call = 0; call < calls; ++call) {
    const int count = call % 2 == 0 ? 3 : 700;
    MPI_OK(MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(strcmp(last_algorithm(), algorithm) == 0, "call %d: %s, not %s", call, last_algorithm(), algorithm);
    for (int i = 0; i < count && strcmp(algorithm, "native") != 0; ++i) CHECK(sum[i] == expected, "call %d: %g, not %g", call, sum[i], expected);
  }
}

static void order(MPI_Info info, const char* algorithm) {
  MPI_Comm with, plain;
  MPI_OK(MPI_Info_set(info, "crossrail_reproducible", "on"));
  MPI_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with));
  MPI_OK(MPI_Comm_dup_with_info(with, MPI_INFO_NULL, &plain));
  expect_order(with, algorithm, 20);
  expect_order(plain, "native", 8); /* The first calls are native: it is not open yet. */
  MPI_OK(MPI_Comm_free(&plain));
  MPI_OK(MPI_Comm_free(&with));
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "session") == 0) {
    of_a_session();
    return verdict();
  }
  MPI_Init(&argc, &argv);
  MPI_Info info;
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  MPI_OK(MPI_Info_create(&info));
  MPI_OK(MPI_Info_set(info, "crossrail_alltoall", "bruck"));
  MPI_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  if (argc > 2) {
    order(info, argv[2]);
  } else if (argc > 1) {
    wrong_keys(info);
  } else {
    every_way(info);
    copied_without_waiting(info);
    different_keys(info);
  }
  MPI_OK(MPI_Info_free(&info));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
