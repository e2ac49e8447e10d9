/* This is a program of sessions, without MPI_Init: there is no world and no MPI_COMM_SELF. Nonblocking and persistent exchanges are the MPI library's
 * there, also on communicators that a blocking exchange has opened, and are right. */
#include "deadline.h"
#include "exchange.h"
#include "persistent.h"
#include "session.h"

#if HAVE_SESSIONS
enum { kPending = 6, kStarts = 5, kSeconds = 60 };

static void outstanding(MPI_Comm comm, int count) {
  Exchange exchanges[kPending];
  MPI_Request requests[kPending];
  for (int i = 0; i < kPending; ++i) {
    begin_exchange(&exchanges[i], comm, i % kForms, count, i);
    requests[i] = exchanges[i].request;
  }
  MPI_OK(checked_alltoall(comm, count, 3));
  for (int i = 0; i < kPending / 2; ++i) {
    int index = -1;
    MPI_OK(MPI_Waitany(kPending, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index >= 0 && index < kPending, "index %d", index);
  }
  MPI_OK(MPI_Waitall(kPending, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kPending; ++i) {
    exchanges[i].request = requests[i];
    end_exchange(&exchanges[i], "of a session");
  }
}

static void started_again(MPI_Comm comm, int form, int count) {
#if HAVE_PERSISTENT
  Exchange exchange;
  make_exchange(&exchange, comm, form, count);
  fill_exchange(&exchange, 0);
  init_exchange(&exchange, MPI_INFO_NULL);
  for (int start = 0; start < kStarts; ++start) {
    fill_exchange(&exchange, start);
    MPI_OK(MPI_Start(&exchange.request));
    MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
    check_exchange(&exchange, "persistent, of a session");
  }
  MPI_OK(MPI_Request_free(&exchange.request));
  free_exchange(&exchange);
#else
  (void)comm, (void)form, (void)count;
#endif
}

int main(void) {
  MPI_Session session;
  MPI_Comm comm, dup;
  begin_case(kSeconds, "a session");
  comm = open_session(&session, "crossrail.pending");
  outstanding(comm, 10);
  MPI_OK(MPI_Barrier(comm));
  for (int form = 0; form < kForms; ++form) started_again(comm, form, 40);
  MPI_OK(MPI_Comm_dup(comm, &dup));
  MPI_OK(checked_alltoall(dup, 7, 1));
  outstanding(dup, 3000);
  MPI_OK(MPI_Comm_free(&dup));
  close_session(&session, &comm);
  return verdict();
}
#else
int main(void) { return 77; }
#endif
