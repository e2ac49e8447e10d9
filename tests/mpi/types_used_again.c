/* Some datatypes cost much to take apart. crossrail does so when a later call uses them again, not in the first one. The program checks results in
 * all calls on them, and counts the allocations by crossrail's library that are as large as such a layout.
 *
 *   types_used_again ROUNDS [threads] */
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"
#include "from_crossrail.h"

/* A layout of so many blocks is longer than what three ranks pack. */
enum { kBlocks = 20000, kShort = 700, kLayoutBytes = 1200 * 1000, kThreads = 4, kMostRanks = 4 };

static _Thread_local int counting; /* It is off in the thread that writes reports. */
static int layouts;

static void note(const void* caller, size_t bytes) {
  if (!counting || bytes < kLayoutBytes) return;
  counting = 0;
  if (from_crossrail(caller)) ++layouts;
  counting = 1;
}
/* These are the allocators that would be there without ours, a sanitizer's too. */
typedef void* (*allocator)(size_t);
void* malloc(size_t bytes) {
  static allocator next;
  if (next == NULL) next = (allocator)dlsym(RTLD_NEXT, "malloc");
  note(__builtin_return_address(0), bytes);
  return next(bytes);
}
/* This is operator new of C++. */
void* _Znwm(size_t bytes);
void* _Znwm(size_t bytes) {
  static allocator next;
  if (next == NULL) next = (allocator)dlsym(RTLD_NEXT, "_Znwm");
  if (next == NULL) next = malloc; /* The C++ library came by a plugin of the MPI library's, and is not looked through. */
  note(__builtin_return_address(0), bytes);
  return next(bytes);
}

/* `ints` ints lie at these places from the type's address, in the order of its pieces. The next element is `extent` ints on. */
typedef struct {
  MPI_Datatype type;
  int ints, extent;
  int* at;
} Made;

/* Makes a type of single ints at uneven distances: an indexed type, or a struct of derived members, of pairs. */
static Made make(int blocks, int of_members) {
  const int each = of_members ? 2 : 1;
  Made made = {MPI_DATATYPE_NULL, blocks * each, 0, malloc(sizeof(int) * (size_t)(blocks * each))};
  int* const places = malloc(sizeof(int) * (size_t)blocks);
  int* const ones = malloc(sizeof(int) * (size_t)blocks);
  MPI_Aint* const bytes = malloc(sizeof(MPI_Aint) * (size_t)blocks);
  MPI_Datatype* const members = malloc(sizeof(MPI_Datatype) * (size_t)blocks);
  MPI_Datatype pair, whole;
  MPI_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
  for (int i = 0; i < blocks; ++i) {
    places[i] = made.extent;
    ones[i] = 1;
    members[i] = pair;
    bytes[i] = (MPI_Aint)sizeof(int) * places[i];
    for (int j = 0; j < each; ++j) made.at[i * each + j] = places[i] + 2 * j;
    made.extent += 2 * each + i % 3;
  }
  if (of_members) MPI_OK(MPI_Type_create_struct(blocks, ones, bytes, members, &whole));
  else MPI_OK(MPI_Type_indexed(blocks, ones, places, MPI_INT, &whole));
  MPI_OK(MPI_Type_create_resized(whole, 0, (MPI_Aint)sizeof(int) * made.extent, &made.type));
  MPI_OK(MPI_Type_commit(&made.type));
  MPI_OK(MPI_Type_free(&whole));
  MPI_OK(MPI_Type_free(&pair));
  free(places), free(ones), free(bytes), free(members);
  return made;
}

/* Makes a type of as many ints in a row. */
static Made in_a_row(int ints) {
  Made made = {MPI_DATATYPE_NULL, ints, ints, malloc(sizeof(int) * (size_t)ints)};
  for (int i = 0; i < ints; ++i) made.at[i] = i;
  MPI_OK(MPI_Type_contiguous(ints, MPI_INT, &made.type));
  MPI_OK(MPI_Type_commit(&made.type));
  return made;
}

static void unmake(Made* made) {
  if (made->type != MPI_DATATYPE_NULL) MPI_OK(MPI_Type_free(&made->type));
  free(made->at);
}

static int* side(const Made* made, int ranks) { return malloc(sizeof(int) * (size_t)(made->extent * ranks)); }

static void fill(int* data, const Made* made, MPI_Comm comm, int salt) {
  const int rank = rank_in(comm), ranks = size_of_comm(comm);
  memset(data, 0xee, sizeof(int) * (size_t)(made->extent * ranks));
  for (int to = 0; to < ranks; ++to) {
    for (int i = 0; i < made->ints; ++i) data[to * made->extent + made->at[i]] = number(rank, to, i + salt);
  }
}

static void check(const int* data, const Made* made, MPI_Comm comm, int salt, const char* what) {
  const int rank = rank_in(comm), ranks = size_of_comm(comm);
  int* const right = side(made, ranks);
  memset(right, 0xee, sizeof(int) * (size_t)(made->extent * ranks));
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < made->ints; ++i) right[from * made->extent + made->at[i]] = number(from, rank, i + salt);
  }
  CHECK(memcmp(data, right, sizeof(int) * (size_t)(made->extent * ranks)) == 0, "%s: wrong ints, or in the gaps", what);
  free(right);
}

typedef enum { kRegular, kInPlace, kEachItsType, kPending, kWays } Way;
static const char* const kNames[] = {"MPI_Alltoall", "MPI_Alltoall in place", "MPI_Alltoallw", "MPI_Ialltoall"};

/* Makes one call. Returns for how many layouts memory was allocated. */
static int exchange(Way way, const Made* from, const Made* to, MPI_Comm comm) {
  const int ranks = size_of_comm(comm), salt = way;
  int counts[kMostRanks], sent_at[kMostRanks], received_at[kMostRanks];
  MPI_Datatype sent[kMostRanks], received[kMostRanks];
  for (int i = 0; i < ranks; ++i) {
    counts[i] = 1;
    sent[i] = from->type, received[i] = to->type;
    sent_at[i] = i * from->extent * (int)sizeof(int), received_at[i] = i * to->extent * (int)sizeof(int);
  }
  int *const out = side(from, ranks), *const in = side(to, ranks);
  fill(out, from, comm, salt);
  fill(in, to, comm, salt + (way == kInPlace ? 0 : 1));
  if (way != kInPlace) memset(in, 0xee, sizeof(int) * (size_t)(to->extent * ranks));
  const int before = layouts;
  MPI_Request request;
  counting = 1;
  if (way == kRegular) MPI_OK(MPI_Alltoall(out, 1, from->type, in, 1, to->type, comm));
  if (way == kInPlace) MPI_OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, to->type, comm));
  if (way == kEachItsType) MPI_OK(MPI_Alltoallw(out, counts, sent_at, sent, in, counts, received_at, received, comm));
  if (way == kPending) MPI_OK(MPI_Ialltoall(out, 1, from->type, in, 1, to->type, comm, &request));
  if (way == kPending) MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  counting = 0;
  check(in, to, comm, salt, kNames[way]);
  free(out), free(in);
  return layouts - before;
}

/* One type is new in every call, and one is used again. Other ranks may have the same ints in a row. */
static void seen(Way way, int of_members, int everywhere) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int gaps = everywhere || rank_in(comm) == 0;
  for (int call = 0; call < 3; ++call) {
    Made made = gaps ? make(kBlocks, of_members) : in_a_row(of_members ? 2 * kBlocks : kBlocks);
    const int taken_apart = exchange(way, &made, &made, comm);
    CHECK(taken_apart == 0, "%s: a type that is new is taken apart", kNames[way]);
    unmake(&made);
  }
  Made made = gaps ? make(kBlocks, of_members) : in_a_row(of_members ? 2 * kBlocks : kBlocks);
  for (int call = 0; call < 4; ++call) {
    const int taken_apart = exchange(way, &made, &made, comm) > 0;
    CHECK(taken_apart == (gaps && call == 1), "%s: taken apart %d times in call %d", kNames[way], taken_apart, call);
  }
  unmake(&made);
}

/* Duplicates types that have been used so many times, and frees one of the two. */
static void duplicates(int uses, int frees_first) {
  Made first = make(kShort, 1);
  for (int use = 0; use < uses; ++use) (void)exchange(kEachItsType, &first, &first, MPI_COMM_WORLD);
  Made second = first;
  MPI_OK(MPI_Type_dup(first.type, &second.type));
  (void)exchange(kRegular, &first, &second, MPI_COMM_WORLD);
  Made *const freed = frees_first ? &first : &second, *const left = frees_first ? &second : &first;
  MPI_OK(MPI_Type_free(&freed->type));
  for (int use = 0; use < 3; ++use) (void)exchange((Way)(use % kWays), left, left, MPI_COMM_WORLD);
  unmake(left);
}

/* Each peer has a type of absolute addresses. */
static void from_bottom(void) {
  const int ranks = size_of_comm(MPI_COMM_WORLD);
  Made made = make(kShort, 1);
  int *const out = side(&made, ranks), *const in = side(&made, ranks);
  int ones[kMostRanks], none[kMostRanks];
  MPI_Datatype types[2][kMostRanks];
  for (int i = 0; i < 2 * ranks; ++i) {
    MPI_Aint place;
    MPI_OK(MPI_Get_address((i < ranks ? out : in) + i % ranks * made.extent, &place));
    ones[i % ranks] = 1, none[i % ranks] = 0;
    MPI_OK(MPI_Type_create_hindexed(1, ones, &place, made.type, &types[i / ranks][i % ranks]));
    MPI_OK(MPI_Type_commit(&types[i / ranks][i % ranks]));
  }
  for (int call = 0; call < 3; ++call) {
    fill(out, &made, MPI_COMM_WORLD, call);
    memset(in, 0xee, sizeof(int) * (size_t)(made.extent * ranks));
    MPI_OK(MPI_Alltoallw(MPI_BOTTOM, ones, none, types[0], MPI_BOTTOM, ones, none, types[1], MPI_COMM_WORLD));
    check(in, &made, MPI_COMM_WORLD, call, "MPI_BOTTOM");
  }
  for (int i = 0; i < 2 * ranks; ++i) MPI_OK(MPI_Type_free(&types[i / ranks][i % ranks]));
  free(out), free(in);
  unmake(&made);
}

/* MPICH 4 has no progress hook, and its persistent calls are its own. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
enum { kCarriesPersistent = 0 };
#else
enum { kCarriesPersistent = 1 };
#endif

/* A persistent call takes its types apart when it is made, since it may be started many times. */
typedef int (*init_function)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
static void persistent(void) {
  const init_function standard = (init_function)dlsym(RTLD_DEFAULT, "MPI_Alltoall_init");
  const init_function init = standard != NULL ? standard : (init_function)dlsym(RTLD_DEFAULT, "MPIX_Alltoall_init");
  if (init == NULL) return;
  const int ranks = size_of_comm(MPI_COMM_WORLD), before = layouts;
  Made made = make(kBlocks, 0);
  int *const out = side(&made, ranks), *const in = side(&made, ranks);
  MPI_Request request;
  counting = 1;
  MPI_OK(init(out, 1, made.type, in, 1, made.type, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  counting = 0;
  CHECK(layouts > before || !kCarriesPersistent, "a type of a persistent call is not taken apart");
  MPI_OK(MPI_Type_free(&made.type));
  for (int start = 0; start < 3; ++start) {
    fill(out, &made, MPI_COMM_WORLD, start);
    memset(in, 0xee, sizeof(int) * (size_t)(made.extent * ranks));
    MPI_OK(MPI_Start(&request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(in, &made, MPI_COMM_WORLD, start, "persistent");
  }
  MPI_OK(MPI_Request_free(&request));
  free(out), free(in);
  unmake(&made);
}

/* All threads use one type, new in every round, on communicators of their own. */
static MPI_Comm comms[kThreads];
static Made shared_by_threads;
static pthread_barrier_t meeting;

static void* use_shared(void* which) {
  const MPI_Comm comm = comms[*(int*)which];
  pthread_barrier_wait(&meeting);
  for (int call = 0; call < 4; ++call) (void)exchange((Way)((call + *(int*)which) % kPending), &shared_by_threads, &shared_by_threads, comm);
  return NULL;
}

static void by_threads(int of_members) {
  static int which[kThreads];
  pthread_t threads[kThreads];
  shared_by_threads = make(kShort, of_members);
  pthread_barrier_init(&meeting, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    which[i] = i;
    pthread_create(&threads[i], NULL, use_shared, &which[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&meeting);
  unmake(&shared_by_threads);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1, threads = argc > 2;
  int level = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  if (threads && level == MPI_THREAD_MULTIPLE) {
    for (int i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int round = 0; round < 10 * rounds; ++round) by_threads(round % 2);
    for (int i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_free(&comms[i]));
  }
  for (int round = 0; round < rounds && !threads; ++round) {
    Made warm = make(kBlocks, 1);  /* Memory to pack into is there afterwards. */
    for (int call = 0; call < 4; ++call) (void)exchange((Way)(call % kWays), &warm, &warm, MPI_COMM_WORLD);
    unmake(&warm);
    for (int way = 0; way < kWays; ++way) {
      seen((Way)way, round % 2, 1);
      seen((Way)way, 1 - round % 2, 0);
    }
    for (int uses = 0; uses < 3; ++uses) {
      duplicates(uses, 0);
      duplicates(uses, 1);
    }
    from_bottom();
    persistent();
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
