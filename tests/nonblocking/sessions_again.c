/* MPI initialized again by sessions: what a library remembers of MPI's handles is another's then. The program's attributes are its own, and
 * its calls right. */
#include "deadline.h"
#include "exchange.h"
#include "session.h"

#if HAVE_SESSIONS
enum { kKeyvals = 8, kCalls = 20, kSeconds = 60 };

static void own_attributes(MPI_Comm comm, const int* keyvals, const char* when) {
  for (int i = 0; i < kKeyvals; ++i) {
    void* value = NULL;
    int found = 0;
    MPI_OK(MPI_Comm_get_attr(comm, keyvals[i], &value, &found));
    CHECK(found && value == (void*)(0x1000L + i), "attribute %d %s: %p", i, when, value);
  }
}

static void initialized_for_the(int time) {
  MPI_Session session;
  int keyvals[kKeyvals];
  MPI_Comm comm = open_session(&session, "crossrail.again"), dup;
  for (int i = 0; i < kKeyvals && time > 0; ++i) {
    MPI_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyvals[i], NULL));
    MPI_OK(MPI_Comm_set_attr(comm, keyvals[i], (void*)(0x1000L + i)));
  }
  for (int call = 0; call < kCalls; ++call) MPI_OK(checked_alltoall(comm, 10, call));
  MPI_OK(MPI_Comm_dup(comm, &dup));
  for (int call = 0; call < kCalls; ++call) MPI_OK(checked_alltoall(dup, 300, call));
  if (time > 0) {
    own_attributes(comm, keyvals, "set");
    own_attributes(dup, keyvals, "copied");
  }
  MPI_OK(MPI_Comm_free(&dup));
  for (int i = 0; i < kKeyvals && time > 0; ++i) MPI_OK(MPI_Comm_free_keyval(&keyvals[i]));
  close_session(&session, &comm);
}

int main(void) {
  begin_case(kSeconds, "sessions again");
  for (int time = 0; time < 2; ++time) initialized_for_the(time);
  return verdict();
}
#else
int main(void) { return 77; }
#endif
