#include "streams.h"

#include <dlfcn.h>
#include <string.h>

#include "check.h"

enum { kStreams = 3, kMostQueued = 64 };

static void* streams[kStreams];
static Exchange* queued[kMostQueued];
static int queued_calls;
static int captured; /* It is the number of the stream; 0 is none. */
static int no_graphs;

const StreamCalls* stream_calls(void) {
  static StreamCalls found;
  static int looked;
  if (!looked) {
    *(void**)&found.alltoall = dlsym(RTLD_DEFAULT, "crossrail_alltoall_on_stream");
    *(void**)&found.allgather = dlsym(RTLD_DEFAULT, "crossrail_allgather_on_stream");
    *(void**)&found.allreduce = dlsym(RTLD_DEFAULT, "crossrail_allreduce_on_stream");
    *(void**)&found.reduce_scatter_block = dlsym(RTLD_DEFAULT, "crossrail_reduce_scatter_block_on_stream");
    *(void**)&found.alltoallv = dlsym(RTLD_DEFAULT, "crossrail_alltoallv_on_stream");
    looked = 1;
  }
  return found.alltoallv == NULL ? NULL : &found;
}

void* stream_of(int number) {
  const Driver* const driver = open_driver_of_process();
  if (number < 0 || number >= kStreams) give_up("no stream %d", number);
  if (number > 0 && streams[number] == NULL && driver != NULL) streams[number] = driver->open_stream();
  return streams[number];
}

static void wait_for_streams(void) {
  const Driver* const driver = open_driver_of_process();
  for (int i = 0; i < kStreams && driver != NULL; ++i) {
    if (i == 0 || streams[i] != NULL) driver->wait(streams[i]);
  }
}

void keep_queued(Exchange* exchange) {
  if (queued_calls == kMostQueued) give_up("more than %d calls in streams", kMostQueued);
  queued[queued_calls++] = exchange;
}

static void check_queued(void) {
  for (int i = 0; i < queued_calls; ++i) check_exchange(queued[i]);
}

static void free_queued(void) {
  for (int i = 0; i < queued_calls; ++i) free_exchange(queued[i]);
  queued_calls = 0;
}

void make_no_graphs(void) { no_graphs = 1; }

static int can_capture(void) { return !no_graphs && open_driver_of_process() != NULL && open_driver_of_process()->begin_capture != NULL; }

void capture_step(Script* script) {
  const int number = (int)next_number(script);
  drain_streams();
  captured = number;
  if (can_capture()) open_driver_of_process()->begin_capture(stream_of(captured));
}

/* Makes what the graph does not do: all of it where there are no graphs, and refused calls. */
static void make_calls_again(int but_enqueued) {
  for (int i = 0; i < queued_calls; ++i) {
    if (but_enqueued && queued[i]->enqueued) continue;
    const int code = call_again(queued[i]);
    CHECK(code == MPI_SUCCESS, "WRONG rank %d: step %d, again: error %d", world_rank(), queued[i]->number, code);
  }
}

static void launch(int times) {
  const Driver* const driver = open_driver_of_process();
  void* const graph = can_capture() ? driver->end_capture(stream_of(captured)) : NULL;
  for (int time = 0; time < times; ++time) {
    for (int i = 0; i < queued_calls && time > 0; ++i) refill(queued[i]);
    if (graph != NULL) driver->launch(graph, stream_of(captured));
    if (time > 0) make_calls_again(graph != NULL);
    wait_for_streams();
    check_queued();
  }
  if (graph != NULL) driver->drop_graph(graph);
  captured = 0;
  free_queued();
}

void launch_step(Script* script) {
  const int times = (int)next_number(script);
  if (captured > 0) launch(times);
}

void drain_streams(void) {
  if (captured > 0) {
    launch(1);
    return;
  }
  if (queued_calls == 0) return;
  wait_for_streams();
  check_queued();
  free_queued();
}
