"""What every program printed as C begins with: memory filled with known numbers, checks, and the ways to complete."""

PROLOGUE = r"""
#include <mpi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#if MPI_VERSION >= 4 || defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
#define INIT(name) MPI_##name##_init
#else
#define INIT(name) MPIX_##name##_init
#endif
#define ALLTOALL_INIT INIT(Alltoall)
#define ALLTOALLV_INIT INIT(Alltoallv)
#define ALLTOALLW_INIT INIT(Alltoallw)
#define ALLGATHER_INIT INIT(Allgather)
#define ALLREDUCE_INIT INIT(Allreduce)
#define REDUCE_SCATTER_BLOCK_INIT INIT(Reduce_scatter_block)
#define ALLGATHERV_INIT INIT(Allgatherv)
#define REDUCE_SCATTER_INIT INIT(Reduce_scatter)
#define GATHER_INIT INIT(Gather)
#define GATHERV_INIT INIT(Gatherv)
#define SCATTER_INIT INIT(Scatter)
#define SCATTERV_INIT INIT(Scatterv)
#define c0 MPI_COMM_WORLD
#define OK(call) do { int code_ = (call); if (code_ != MPI_SUCCESS) printf("WRONG: %s: error %d\n", #call, code_), wrong = 1; } while (0)

static int wrong;
typedef void* (*Part)(void*);
typedef struct { unsigned char *memory, *base; long bytes; } Area;      /* guards around what is used */
typedef struct { int rank; long from, to, bytes; } Piece;

/* kind 1: ends before a page that cannot be touched; 4: begins behind one. */
static Area area(int kind, long low, long high) {
  Area made;
  const long guard = kind == 0 ? 128 : 16, page = 4096;
  low = (low - 15) / 16 * 16 - (kind == 4 ? 0 : guard);
  high = (high + 15) / 16 * 16 + (kind == 1 ? 0 : guard);
  made.bytes = high - low;
  const long pages = (made.bytes + page - 1) / page * page;
  char* mapped = mmap(NULL, pages + 2 * page, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (kind == 2 ? MAP_SHARED : MAP_PRIVATE), -1, 0);
  mprotect(mapped, page, PROT_NONE);
  mprotect(mapped + page + pages, page, PROT_NONE);
  made.memory = (unsigned char*)mapped + page + (kind == 4 ? 0 : pages - made.bytes);
  made.base = made.memory - low;
  return made;
}

static unsigned char number(int call, int rank, int receives, long at) {
  unsigned long word = 0x9e3779b97f4a7c15ul * (unsigned long)(at + 1000003l * (2 * rank + receives) + 7919l * call + 99);
  return (unsigned char)(word >> 40);
}
static void fill(Area* area, int call, int rank, int receives) {
  for (long i = 0; i < area->bytes; ++i) area->memory[i] = number(call, rank, receives, area->memory + i - area->base);
}
static int my_rank(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); return rank; }
static void check(const Area* area, int call, int in_place, const Piece* pieces, int count) {
  unsigned char* must = malloc(area->bytes);
  Area expected = {must, must + (area->base - area->memory), area->bytes};
  fill(&expected, call, my_rank(), 1);
  for (int i = 0; i < count; ++i)
    for (long k = 0; k < pieces[i].bytes; ++k)
      expected.base[pieces[i].to + k] = number(call, pieces[i].rank, in_place, pieces[i].from + k);
  for (long i = 0; i < area->bytes; ++i)
    if (area->memory[i] != must[i]) {
      printf("WRONG: rank %d, step %d: byte %ld\n", my_rank(), call, (long)(area->memory + i - area->base));
      wrong = 1;
      break;
    }
  free(must);
}
static inline void* room(long bytes) { return calloc(1, bytes + 1); }
static inline void compute(int us) { for (double end = MPI_Wtime() + 1e-6 * us; MPI_Wtime() < end;) continue; }
static inline void set(const char* name, const char* value) { /* a setting of crossrail, if it is preloaded */
  int (*its)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_DEFAULT, "crossrail_set");
  if (its != NULL) its(name, value);
}
static inline MPI_Datatype from_bottom(MPI_Datatype type, void* base) {
  MPI_Aint address, lower, extent;
  MPI_Datatype at, made;
  MPI_Get_address(base, &address);
  MPI_Type_create_hindexed(1, (int[]){1}, &address, type, &at);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_create_resized(at, address + lower, extent, &made);
  MPI_Type_commit(&made);
  return made;
}
static inline MPI_Comm with_info(MPI_Comm parent, const char* key) { /* NAME=VALUE */
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm made;
  char name[100] = "";
  if (sscanf(key, "%99[^=]=", name) == 1 && strchr(key, '=') != NULL) MPI_Info_create(&info), MPI_Info_set(info, name, strchr(key, '=') + 1);
  MPI_Comm_dup_with_info(parent, info, &made);
  return made;
}
static inline MPI_Comm of_group(MPI_Comm parent, int* ranks, int count, int group_only) {
  MPI_Group world, group;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, ranks, &group);
  if (group_only) MPI_Comm_create_group(parent, group, 17, &made);
  else MPI_Comm_create(parent, group, &made);
  return made;
}
static inline MPI_Comm between(MPI_Comm parent, int color, int key, int leader) {
  MPI_Comm half, made;
  MPI_Comm_split(parent, color, key, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 99, &made);
  return made;
}

/* Of some requests; again until all have ended where it is said so. */
static inline void complete_wait(int n, MPI_Request* q, int again) { (void)again; for (int i = 0; i < n; ++i) OK(MPI_Wait(&q[i], MPI_STATUS_IGNORE)); }
static inline void complete_waitall(int n, MPI_Request* q, int again) { (void)again; OK(MPI_Waitall(n, q, MPI_STATUSES_IGNORE)); }
static inline void complete_status(int n, MPI_Request* q, int again) { int f; (void)again; for (int i = 0; i < n; ++i) OK(MPI_Request_get_status(q[i], &f, MPI_STATUS_IGNORE)); }
static inline void complete_test(int n, MPI_Request* q, int again) { int f = 1; for (int i = 0; i < n; ++i) do OK(MPI_Test(&q[i], &f, MPI_STATUS_IGNORE)); while (again && !f); }
static inline void complete_testall(int n, MPI_Request* q, int again) { int f; do OK(MPI_Testall(n, q, &f, MPI_STATUSES_IGNORE)); while (again && !f); }
static inline void complete_waitany(int n, MPI_Request* q, int again) { int i; do OK(MPI_Waitany(n, q, &i, MPI_STATUS_IGNORE)); while (again && i != MPI_UNDEFINED); }
static inline void complete_testany(int n, MPI_Request* q, int again) { int i, f; do OK(MPI_Testany(n, q, &i, &f, MPI_STATUS_IGNORE)); while (again && !(f && i == MPI_UNDEFINED)); }
static inline void complete_waitsome(int n, MPI_Request* q, int again) { int k, which[64]; do OK(MPI_Waitsome(n, q, &k, which, MPI_STATUSES_IGNORE)); while (again && k != MPI_UNDEFINED); }
static inline void complete_testsome(int n, MPI_Request* q, int again) { int k, which[64]; do OK(MPI_Testsome(n, q, &k, which, MPI_STATUSES_IGNORE)); while (again && k != MPI_UNDEFINED); }

/* The first part alone, then all others at the same time. */
static int run(int argc, char** argv, int level, const Part* parts, int ranks, int count) {
  pthread_t threads[8];
  int size;
  MPI_Init_thread(&argc, &argv, level, &size);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != ranks) return 2;
  alarm(10);
  parts += my_rank() * count;
  parts[0](NULL);
  for (int i = 1; i < count; ++i) pthread_create(&threads[i], NULL, parts[i], NULL);
  for (int i = 1; i < count; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!wrong) printf("PASS\n");
  MPI_Finalize();
  return wrong;
}
"""
