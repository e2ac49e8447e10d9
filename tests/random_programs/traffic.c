#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct {
  int number, from, to, source, bytes, tag; /* `from` and `to` are of the world, `source` is of the communicator. */
  int receives;
  unsigned char* data;
} Message;

static unsigned char letter(int number, int i) { return byte_of(mixed(77, (uint64_t)number), i); }

static void check_letters(const unsigned char* data, int bytes, int number, const char* what) {
  int wrong = 0;
  for (int i = 0; i < bytes; ++i) wrong += data[i] != letter(number, i);
  CHECK(wrong == 0, "WRONG rank %d: step %d, %s: %d of %d bytes", world_rank(), number, what, wrong, bytes);
}

static unsigned char* letters(int bytes, int number, int known) {
  unsigned char* const data = malloc((size_t)bytes + 1);
  for (int i = 0; i < bytes; ++i) data[i] = known ? letter(number, i) : 0xee;
  return data;
}

static void check_message(const Message* message, const MPI_Status* status) {
  int bytes = -1;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  CHECK(status->MPI_SOURCE == message->source && status->MPI_TAG == message->tag && bytes == message->bytes,
        "WRONG rank %d: message %d came from %d with tag %d, %d bytes", world_rank(), message->number, status->MPI_SOURCE,
        status->MPI_TAG, bytes);
  check_letters(message->data, message->bytes, message->number, "a message");
}

static void message_ended(Operation* operation, const MPI_Status* status) {
  Message* const message = operation->owner;
  if (message->receives) check_message(message, status);
  free(message->data);
  free(message);
  memset(operation, 0, sizeof *operation);
}

static void blocking_receive(const Message* message, const char* how, MPI_Comm comm) {
  MPI_Status status;
  const int any = strcmp(how, "mprobe") == 0 ? MPI_ANY_SOURCE : message->source;
  if (strcmp(how, "mprobe") == 0) {
    MPI_Message matched;
    MPI_OK(MPI_Mprobe(any, message->tag, comm, &matched, &status));
    MPI_OK(MPI_Mrecv(message->data, message->bytes, MPI_BYTE, &matched, &status));
  } else {
    int there = strcmp(how, "iprobe") != 0;
    while (!there) MPI_OK(MPI_Iprobe(message->source, message->tag, comm, &there, &status));
    MPI_OK(MPI_Recv(message->data, message->bytes, MPI_BYTE, message->source, message->tag, comm, &status));
  }
  check_message(message, &status);
}

static int begin_half(const Message* message, const char* how, MPI_Comm comm, MPI_Request* request) {
  const int tag = strcmp(how, "anytag") == 0 ? MPI_ANY_TAG : message->tag;
  const int source = strcmp(how, "any") == 0 ? MPI_ANY_SOURCE : message->source;
  if (strcmp(how, "isend") == 0) return MPI_Isend(message->data, message->bytes, MPI_BYTE, source, tag, comm, request);
  if (strcmp(how, "issend") == 0) return MPI_Issend(message->data, message->bytes, MPI_BYTE, source, tag, comm, request);
  return MPI_Irecv(message->data, message->bytes, MPI_BYTE, source, tag, comm, request);
}

static void half_of_message(Message shared, const char* how, MPI_Comm comm) {
  Message* const message = malloc(sizeof *message);
  *message = shared;
  message->data = letters(message->bytes, message->number, !message->receives);
  const int blocking = strcmp(how, "send") == 0 || strcmp(how, "ssend") == 0 || strcmp(how, "recv") == 0 ||
                       strcmp(how, "mprobe") == 0 || strcmp(how, "iprobe") == 0;
  if (!blocking) {
    /* The receiving half has the number after the sending one, because both may be this rank's. */
    Operation* const one = operation_of(message->number + message->receives);
    *one = (Operation){.active = 1, .ended = message_ended, .owner = message};
    MPI_OK(begin_half(message, how, comm, &one->request));
    return;
  }
  if (message->receives) blocking_receive(message, how, comm);
  if (strcmp(how, "send") == 0) MPI_OK(MPI_Send(message->data, message->bytes, MPI_BYTE, message->source, message->tag, comm));
  if (strcmp(how, "ssend") == 0) MPI_OK(MPI_Ssend(message->data, message->bytes, MPI_BYTE, message->source, message->tag, comm));
  free(message->data);
  free(message);
}

static int place_in(const Team* team, int rank) {
  const int group = team->group_of[rank];
  int place = 0;
  while (team->member[group][place] != rank) ++place;
  return place;
}

/* This step is message NUMBER TEAM FROM TO BYTES SENT-HOW RECEIVED-HOW. */
void message_step(Script* script) {
  char sent[kWordBytes], received[kWordBytes];
  Message shared = {.number = (int)next_number(script)};
  const Team* const team = team_of((int)next_number(script));
  shared.from = (int)next_number(script);
  shared.to = (int)next_number(script);
  shared.bytes = (int)next_number(script);
  strcpy(sent, next_word(script));
  strcpy(received, next_word(script));
  shared.tag = 1000 + shared.number;
  const int me = world_rank();
  if (me == shared.to) {
    shared.receives = 1;
    shared.source = place_in(team, shared.from);
    half_of_message(shared, received, team->comm);
  }
  if (me == shared.from) {
    shared.receives = 0;
    shared.source = place_in(team, shared.to);
    half_of_message(shared, sent, team->comm);
  }
}

typedef struct {
  int number, bytes, size;
  char kind;
  unsigned char* data;
  int mine, sum;
} Other;

static void other_ended(Operation* operation, const MPI_Status* status) {
  Other* const other = operation->owner;
  (void)status;
  if (other->kind == 'c') check_letters(other->data, other->bytes, other->number, "a broadcast");
  if (other->kind == 'r') {
    CHECK(other->sum == other->size * (other->number + 5), "WRONG rank %d: step %d: a sum is %d", world_rank(), other->number,
          other->sum);
  }
  free(other->data);
  free(other);
  memset(operation, 0, sizeof *operation);
}

static void start_other(const char* kind, Other* other, MPI_Comm comm, int last) {
  Operation* const one = operation_of(other->number);
  *one = (Operation){.active = 1, .ended = other_ended, .owner = other};
  other->kind = kind[2]; /* a, c and l are of ibarrier, ibcast and iallreduce. */
  if (strcmp(kind, "ibarrier") == 0) MPI_OK(MPI_Ibarrier(comm, &one->request));
  if (strcmp(kind, "ibcast") == 0) MPI_OK(MPI_Ibcast(other->data, other->bytes, MPI_BYTE, last, comm, &one->request));
  if (strcmp(kind, "iallreduce") == 0) {
    other->kind = 'r';
    MPI_OK(MPI_Iallreduce(&other->mine, &other->sum, 1, MPI_INT, MPI_SUM, comm, &one->request));
  }
}

static void gather(const Other* other, MPI_Comm comm) {
  unsigned char* const all = malloc((size_t)(other->bytes * other->size) + 1);
  unsigned char* const mine = letters(other->bytes, other->number, 1);
  MPI_OK(MPI_Allgather(mine, other->bytes, MPI_BYTE, all, other->bytes, MPI_BYTE, comm));
  for (int i = 0; i < other->size; ++i) check_letters(all + i * other->bytes, other->bytes, other->number, "a gather");
  free(mine);
  free(all);
}

/* Puts a neighbour's word into a window. */
static void put(const Other* other, MPI_Comm comm) {
  MPI_Win window;
  int* words;
  const int rank = rank_in(comm), left = (rank + other->size - 1) % other->size, word = other->number + rank;
  MPI_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &words, &window));
  *words = -1;
  MPI_OK(MPI_Win_fence(0, window));
  MPI_OK(MPI_Put(&word, 1, MPI_INT, (rank + 1) % other->size, 0, 1, MPI_INT, window));
  MPI_OK(MPI_Win_fence(0, window));
  CHECK(*words == other->number + left, "WRONG rank %d: step %d: a word put is %d", world_rank(), other->number, *words);
  MPI_OK(MPI_Win_free(&window));
}

static void run_other(const char* kind, Other* other, MPI_Comm comm, int last) {
  if (strcmp(kind, "barrier") == 0) MPI_OK(MPI_Barrier(comm));
  if (strcmp(kind, "bcast") == 0) {
    MPI_OK(MPI_Bcast(other->data, other->bytes, MPI_BYTE, last, comm));
    check_letters(other->data, other->bytes, other->number, "a broadcast");
  }
  if (strcmp(kind, "allreduce") == 0 || strcmp(kind, "reduce") == 0) {
    if (kind[0] == 'a') MPI_OK(MPI_Allreduce(&other->mine, &other->sum, 1, MPI_INT, MPI_SUM, comm));
    if (kind[0] == 'r') MPI_OK(MPI_Reduce(&other->mine, &other->sum, 1, MPI_INT, MPI_SUM, last, comm));
    const int known = kind[0] == 'a' || rank_in(comm) == last;
    CHECK(!known || other->sum == other->size * other->mine, "WRONG rank %d: step %d: a sum is %d", world_rank(), other->number,
          other->sum);
  }
  if (strcmp(kind, "allgather") == 0) gather(other, comm);
  if (strcmp(kind, "put") == 0) put(other, comm);
  free(other->data);
  free(other);
}

/* This step is other NUMBER TEAM KIND BYTES. */
void other_step(Script* script) {
  Other* const other = calloc(1, sizeof *other);
  other->number = (int)next_number(script);
  const Team* const team = team_of((int)next_number(script));
  char kind[kWordBytes];
  strcpy(kind, next_word(script));
  other->bytes = (int)next_number(script);
  if (team->comm == MPI_COMM_NULL) {
    free(other);
    return;
  }
  other->size = size_of_comm(team->comm);
  const int last = other->size - 1;
  other->data = letters(other->bytes, other->number, rank_in(team->comm) == last);
  other->mine = other->number + 5;
  (kind[0] == 'i' ? start_other : run_other)(kind, other, team->comm, last);
}
