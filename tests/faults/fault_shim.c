/* This is preloaded in front of crossrail. One of the calls that crossrail makes fails. A site is a place in crossrail's code, with those that called
 * it; what is counted is the first time that each site is reached.
 *
 *   FAULT_KINDS   which calls: memory, system and mpi, with commas; all of them otherwise
 *   FAULT_AT      the number of the site that fails, from 1; 0 only counts
 *   FAULT_RANK    of the world, where it fails
 *   FAULT_AGAIN   also every later call from that site
 *   FAULT_ALWAYS  functions that fail always, with commas: what stands in for them is tried then
 *   FAULT_LIST    says what is called, and where from what fails
 *
 * At the end each process says how many sites it has met. Collective MPI calls are made before they fail, because other ranks would wait for ever, in
 * MPI. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kMostSites = 8192, kFrames = 12, kDepth = 6, kErrorCode = 15 };

static uintptr_t first_address, end_address; /* They bound crossrail's code. */
static uint64_t sites[kMostSites];
static int site_count, at = -1, again, listed, failed_site;
static char kinds[80], always[80];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

extern void* __libc_malloc(size_t bytes);

static int find_code(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  if (object->dlpi_name == NULL || strstr(object->dlpi_name, "libcrossrail_mpi_") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    first_address = object->dlpi_addr + part->p_vaddr;
    end_address = first_address + part->p_memsz;
  }
  return 1;
}

static int own_rank(void) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  return rank == NULL ? 0 : atoi(rank);
}

static void begin(void) {
  const char* const where = getenv("FAULT_AT");
  const char* const which = getenv("FAULT_KINDS");
  const char* const rank = getenv("FAULT_RANK");
  snprintf(kinds, sizeof kinds, "%s", which == NULL ? "memory,system,mpi" : which);
  const char* const these = getenv("FAULT_ALWAYS");
  snprintf(always, sizeof always, "%s", these == NULL ? "" : these);
  again = getenv("FAULT_AGAIN") != NULL;
  listed = getenv("FAULT_LIST") != NULL;
  dl_iterate_phdr(find_code, NULL);
  void* frames[2];
  (void)backtrace(frames, 2); /* What it loads is loaded now. */
  at = where != NULL && own_rank() == (rank == NULL ? 0 : atoi(rank)) ? atoi(where) : 0;
}

/* Returns the frames in crossrail from the caller up. */
static uint64_t site_of(void) {
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  uint64_t site = 0;
  for (int i = 0, depth = 0; i < count && depth < kDepth; ++i) {
    const uintptr_t address = (uintptr_t)frames[i];
    if (address < first_address || address >= end_address) continue;
    site = (site ^ (address - first_address)) * 0x9e3779b97f4a7c15u;
    ++depth;
  }
  return site;
}

static int fails_here(const char* name) {
  const uint64_t site = site_of();
  int number = 0;
  while (number < site_count && sites[number] != site) ++number;
  const int known = number < site_count;
  if (!known && site_count < kMostSites) sites[site_count++] = site;
  const int fails = number + 1 == at && (!known || again);
  if (!known && listed) fprintf(stderr, "SITE %d of rank %d: %s\n", number + 1, own_rank(), name);
  if (fails && !failed_site) fprintf(stderr, "FAULT %d: %s fails\n", at, name);
  if (fails && !failed_site && listed) {
    void* frames[kFrames];
    backtrace_symbols_fd(frames, backtrace(frames, kFrames), 2);
  }
  failed_site |= fails;
  return fails;
}

static int is_in_list(const char* list, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
    if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return 1;
  }
  return 0;
}

/* Returns whether this call, made from `caller`, must fail. */
static int fails(const char* kind, const char* name, const void* caller) {
  if (inside || (uintptr_t)caller < first_address || (uintptr_t)caller >= end_address || at < 0) return 0;
  if (strstr(kinds, kind) == NULL) return 0;
  if (is_in_list(always, name)) return 1;
  inside = 1;
  const int kept = errno;
  pthread_mutex_lock(&mutex);
  const int result = fails_here(name);
  pthread_mutex_unlock(&mutex);
  errno = kept;
  inside = 0;
  return result;
}

__attribute__((constructor)) static void start(void) {
  inside = 1;
  begin();
  inside = 0;
}

__attribute__((destructor)) static void say_count(void) { fprintf(stderr, "SITES rank %d: %d\n", own_rank(), site_count); }

void* malloc(size_t bytes) {
  if (!fails("memory", "malloc", __builtin_return_address(0))) return __libc_malloc(bytes);
  errno = ENOMEM;
  return NULL;
}

int posix_memalign(void** piece, size_t alignment, size_t bytes) {
  static int (*next)(void**, size_t, size_t);
  if (fails("memory", "posix_memalign", __builtin_return_address(0))) return ENOMEM;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "posix_memalign");
  return next(piece, alignment, bytes);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define SYSTEM(type, name, parameters, arguments, result, number)                   \
  type name parameters {                                                            \
    if (!fails("system", #name, __builtin_return_address(0))) return NEXT(name) arguments; \
    errno = number;                                                                 \
    return result;                                                                  \
  }
SYSTEM(void*, mmap, (void* a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f), MAP_FAILED, ENOMEM)
SYSTEM(int, mprotect, (void* a, size_t b, int c), (a, b, c), -1, ENOMEM)
SYSTEM(int, memfd_create, (const char* a, unsigned b), (a, b), -1, EMFILE)
SYSTEM(int, ftruncate, (int a, off_t b), (a, b), -1, ENOSPC)
SYSTEM(int, posix_fallocate, (int a, off_t b, off_t c), (a, b, c), ENOSPC, ENOSPC)
SYSTEM(int, shm_open, (const char* a, int b, mode_t c), (a, b, c), -1, EMFILE)
SYSTEM(ssize_t, process_vm_readv, (pid_t a, const struct iovec* b, unsigned long c, const struct iovec* d, unsigned long e, unsigned long f),
       (a, b, c, d, e, f), -1, EPERM)
SYSTEM(int, socket, (int a, int b, int c), (a, b, c), -1, EMFILE)
SYSTEM(ssize_t, read, (int a, void* b, size_t c), (a, b, c), -1, EIO)
SYSTEM(ssize_t, write, (int a, const void* b, size_t c), (a, b, c), -1, ENOSPC)
SYSTEM(ssize_t, pread, (int a, void* b, size_t c, off_t d), (a, b, c, d), -1, EIO)
SYSTEM(ssize_t, pwrite, (int a, const void* b, size_t c, off_t d), (a, b, c, d), -1, ENOSPC)
SYSTEM(int, rename, (const char* a, const char* b), (a, b), -1, EACCES)
SYSTEM(int, unlink, (const char* a), (a), -1, EACCES)
SYSTEM(int, stat, (const char* a, struct stat* b), (a, b), -1, EACCES)
SYSTEM(int, fstat, (int a, struct stat* b), (a, b), -1, ENOMEM)
SYSTEM(int, access, (const char* a, int b), (a, b), -1, EACCES)
SYSTEM(DIR*, opendir, (const char* a), (a), NULL, EMFILE)
SYSTEM(FILE*, fdopen, (int a, const char* b), (a, b), NULL, ENOMEM)
SYSTEM(int, bind, (int a, const struct sockaddr* b, socklen_t c), (a, b, c), -1, EADDRINUSE)
SYSTEM(int, connect, (int a, const struct sockaddr* b, socklen_t c), (a, b, c), -1, ECONNREFUSED)
SYSTEM(ssize_t, sendmsg, (int a, const struct msghdr* b, int c), (a, b, c), -1, ENOBUFS)
SYSTEM(ssize_t, recvmsg, (int a, struct msghdr* b, int c), (a, b, c), -1, ENOMEM)
SYSTEM(int, poll, (struct pollfd * a, nfds_t b, int c), (a, b, c), -1, ENOMEM)
SYSTEM(int, madvise, (void* a, size_t b, int c), (a, b, c), -1, EAGAIN)
SYSTEM(ssize_t, getrandom, (void* a, size_t b, unsigned c), (a, b, c), -1, ENOSYS)
SYSTEM(int, sched_getaffinity, (pid_t a, size_t b, cpu_set_t* c), (a, b, c), -1, EPERM)
SYSTEM(int, gethostname, (char* a, size_t b), (a, b), -1, EPERM)
SYSTEM(int, pthread_create, (pthread_t * a, const pthread_attr_t* b, void* (*c)(void*), void* d), (a, b, c, d), EAGAIN, EAGAIN)

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  if (!fails("system", "open", __builtin_return_address(0))) return NEXT(open)(path, flags, mode);
  errno = EMFILE;
  return -1;
}

/* It handles pidfd_open and pidfd_getfd. */
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(more, long);
  va_end(more);
  if (!fails("system", "syscall", __builtin_return_address(0))) return NEXT(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  errno = ENOSYS;
  return -1;
}

/* These are MPI's functions, as machine words; crossrail looks them up by dlsym. */
typedef long (*Words)(long, long, long, long, long, long, long, long, long, long);
typedef struct {
  const char* name;
  Words real, ours;
} Function;

#define FUNCTION(its, needed) static long fault_##its(long, long, long, long, long, long, long, long, long, long);
#include "mpi/library/functions.def"
#undef FUNCTION
static Function functions[] = {
#define FUNCTION(its, needed) {"PMPI_" #its, NULL, fault_##its},
#include "mpi/library/functions.def"
#undef FUNCTION
};

static int is_collective(const char* name) {
  static const char* const all[] = {"PMPI_Allgather", "PMPI_Allreduce", "PMPI_Alltoall", "PMPI_Bcast", "PMPI_Comm_dup", "PMPI_Comm_split",
                                    "PMPI_Iallreduce", "PMPI_Ibcast"};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    if (strcmp(all[i], name) == 0) return 1;
  }
  return 0;
}

/* Functions that tell, and functions that give back or complete, do not fail. Neither does what finds out that the program has not committed a type,
 * nor what keeps the record of a communicator, without which the job is aborted. */
static int may_fail(const char* name) {
  static const char* const never[] = {"Finalized", "Initialized", "Query_thread", "Comm_rank", "Comm_size", "Test", "Wait", "_free",
                                      "Request_get_status", "Get_count", "Pack_size", "Grequest_complete", "Status_set", "Cancel", "call_errhandler",
                                      "Comm_create_keyval", "Comm_get_attr", "Comm_set_attr"};
  for (size_t i = 0; i < sizeof never / sizeof never[0]; ++i) {
    if (strstr(name, never[i]) != NULL) return 0;
  }
  return 1;
}

static Function* find_function(const char* name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (strcmp(functions[i].name, name) == 0) return &functions[i];
  }
  return NULL;
}

#define FUNCTION(its, needed) \
  static long fault_##its(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { \
    static Function* function; \
    if (function == NULL) function = find_function("PMPI_" #its); \
    const int nothing = strcmp(function->name, "PMPI_Pack") == 0 && (int)b == 0; /* It only asks whether the type is committed. */ \
    const int failing = !nothing && fails("mpi", function->name, __builtin_return_address(0)); \
    if (failing && !is_collective(function->name)) return kErrorCode; \
    const long code = function->real(a, b, c, d, e, f, g, h, i, j); \
    return failing ? kErrorCode : code; \
  }
#include "mpi/library/functions.def"
#undef FUNCTION

static void* (*real_dlsym)(void*, const char*);

void* dlsym(void* handle, const char* name) {
  if (real_dlsym == NULL) real_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real_dlsym == NULL) real_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (handle == RTLD_NEXT) return real_dlsym(handle, name);
  void* const real = real_dlsym(handle, name);
  Function* const function = find_function(name);
  if (function == NULL || real == NULL || caller < first_address || caller >= end_address || !may_fail(name)) return real;
  if (strstr(kinds, "mpi") == NULL) return real;
  function->real = (Words)real;
  return (void*)function->ours;
}
