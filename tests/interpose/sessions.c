/* The program uses MPI-4 sessions: there is no MPI_Init and no world, and a session is opened and closed several times. From the second time on what
 * a library remembers of MPI's handles is another's: the program sets attributes of its own then. */
#include "session.h"

#if HAVE_SESSIONS
enum { kKeyvals = 8 };

static void own_attributes(MPI_Comm comm, const int* keyvals, const char* when) {
  for (int i = 0; i < kKeyvals; ++i) {
    void* value = NULL;
    int found = 0;
    MPI_OK(MPI_Comm_get_attr(comm, keyvals[i], &value, &found));
    CHECK(found && value == (void*)(0x1000L + i), "attribute %d %s: %p", i, when, value);
  }
}

static void one_session(int round) {
  MPI_Session session;
  MPI_Comm comm, dup;
  int keyvals[kKeyvals];
  const int given = round > 0 ? kKeyvals : 0;
  comm = open_session(&session, "crossrail.test");
  for (int i = 0; i < given; ++i) {
    MPI_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyvals[i], NULL));
    MPI_OK(MPI_Comm_set_attr(comm, keyvals[i], (void*)(0x1000L + i)));
  }
  for (int i = 0; i < 20; ++i) MPI_OK(checked_alltoall(comm, 1 + i * 50, round + i));
  MPI_OK(MPI_Comm_dup(comm, &dup));
  MPI_OK(checked_alltoall(dup, 7, round));
  if (given > 0) {
    own_attributes(comm, keyvals, "set");
    own_attributes(dup, keyvals, "copied");
  }
  MPI_OK(MPI_Comm_free(&dup));
  for (int i = 0; i < given; ++i) MPI_OK(MPI_Comm_free_keyval(&keyvals[i]));
  close_session(&session, &comm);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 2;
  for (int round = 0; round < rounds; ++round) one_session(round);
  return verdict();
}
#else
int main(void) { return 77; }
#endif
