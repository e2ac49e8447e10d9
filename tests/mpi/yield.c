/* MPICH's progress loop over UCX never gives the core away, so that with more ranks than cores a rank that waits keeps the one that works from
 * running. This is preloaded into tests only. It yields when some calls in a row found nothing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

enum { kIdleCalls = 16 };

typedef unsigned (*Progress)(void* worker);

static Progress next_progress(void) {
  static Progress next;
  if (next == NULL) next = (Progress)dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (next == NULL) { /* It was loaded privately, as Python does. */
    void* ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (ucp != NULL) next = (Progress)dlsym(ucp, "ucp_worker_progress");
  }
  return next;
}

unsigned ucp_worker_progress(void* worker) {
  static __thread int idle;
  const Progress next = next_progress();
  const unsigned events = next == NULL ? 0 : next(worker);
  if (events != 0) {
    idle = 0;
  } else if (++idle >= kIdleCalls) {
    idle = 0;
    sched_yield();
  }
  return events;
}
