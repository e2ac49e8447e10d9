/* This program runs many test programs, one after the other, in one MPI job: starting jobs takes most of the time of small tests.
 *
 *   many_cases FOLDER LEVEL FIRST      LEVEL: the thread level, 0 (single) to 3 (multiple); FIRST: the case to begin with
 *
 * A line of FOLDER/cases is one case. Its words, with tabs between them, are the path of a shared object (case_main.h), settings as NAME=VALUE, "--"
 * and the arguments of its main. Every case has variables of its own and a communicator of its own as its world; the first one has the real
 * MPI_COMM_WORLD. In FOLDER each rank writes <rank>.progress ("begin 3", "end 3 0", the latter with what main returned). For each case it also writes
 * <case>.<rank>.out, what the case printed, and <case>.<rank>.json, the report so far. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMostWords = 200, kLine = 8192 };

__attribute__((visibility("default"))) MPI_Comm case_world;
static const char* folder;
static int rank, level, progress;

static void give_up(const char* what, const char* about) {
  fprintf(stderr, "many_cases: %s %s: %s\n", what, about, strerror(errno));
  PMPI_Abort(MPI_COMM_WORLD, 3);
}

__attribute__((visibility("default"))) int case_init(void) { return MPI_SUCCESS; }

__attribute__((visibility("default"))) int case_init_thread(int required, int* provided) {
  if (required != level) give_up("another thread level than its cmake line says is wanted by", "a case");
  return MPI_Query_thread(provided);
}

/* The program's world is freed as MPI_Finalize would end it. */
__attribute__((visibility("default"))) int case_finalize(void) {
  const int code = case_world == MPI_COMM_WORLD ? MPI_SUCCESS : MPI_Comm_free(&case_world);
  case_world = MPI_COMM_NULL;
  return code;
}

/* MPI raises what belongs to no communicator on the real world. MPICH 5 raises it on MPI_COMM_SELF, once that has a handler of its own. */
__attribute__((visibility("default"))) int case_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  if (comm == case_world) PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  return MPI_Comm_set_errhandler(comm, handler);
}

static void note(const char* what, int index, const char* more) {
  char line[100];
  const int length = snprintf(line, sizeof line, "%s %d%s\n", what, index, more);
  if (write(progress, line, (size_t)length) != length) give_up("cannot write", "the progress");
}

static void redirect(int descriptor, int to) {
  fflush(NULL);
  if (dup2(descriptor, to) < 0) give_up("cannot redirect", "the output");
}

/* A copy of the file is another object for the loader, whose variables have their first values. It stays open, because the loader takes files of one
 * name for one. */
static int (*load(const char* path))(int, char**) {
  char copy[40];
  struct stat about;
  const int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("case", MFD_CLOEXEC);
  if (from < 0 || to < 0 || fstat(from, &about) != 0) give_up("cannot open", path);
  void* const bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, from, 0);
  if (bytes == MAP_FAILED || write(to, bytes, (size_t)about.st_size) != about.st_size) give_up("cannot copy", path);
  munmap(bytes, (size_t)about.st_size);
  snprintf(copy, sizeof copy, "/proc/self/fd/%d", to);
  void* const object = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
  if (object == NULL) give_up("cannot load", dlerror());
  close(from);
  int (*main_of)(int, char**) = NULL;
  *(void**)&main_of = dlsym(object, "main");
  if (main_of == NULL) give_up("there is no main in", path);
  return main_of;
}

/* Where crossrail is not preloaded, settings have no effect. The program may look for them in its environment. */
static void set(char* setting) {
  int (*change)(const char*, const char*) = NULL;
  *(void**)&change = dlsym(RTLD_DEFAULT, "crossrail_set");
  char* const value = strchr(setting, '=');
  if (value == NULL) return;
  *value = 0;
  if (value[1] == 0) unsetenv(setting);
  else setenv(setting, value + 1, 1);
  if (change != NULL && change(setting, value + 1) != 0) {
    fprintf(stderr, "crossrail_set refuses %s=%s\n", setting, value + 1);
    PMPI_Abort(MPI_COMM_WORLD, 4);
  }
}

/* Keeps what is counted so far, as a link to the file that is replaced next time. */
static void keep_report(int index) {
  int (*write_report)(void) = NULL;
  *(void**)&write_report = dlsym(RTLD_DEFAULT, "crossrail_write_report");
  if (getenv("CROSSRAIL_REPORT") == NULL || write_report == NULL || write_report() != 0) return;
  char path[4096];
  glob_t found;
  snprintf(path, sizeof path, "%s/*.%d.json", getenv("CROSSRAIL_REPORT"), (int)getpid());
  if (glob(path, 0, NULL, &found) != 0) return;
  snprintf(path, sizeof path, "%s/%d.%d.json", folder, index, rank);
  if (link(found.gl_pathv[0], path) != 0) give_up("cannot keep", path);
  globfree(&found);
}

static int run_case(int index, char** words, int count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.%d.out", folder, index, rank);
  const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0) give_up("cannot open", path);
  redirect(out, 1);
  redirect(out, 2);
  close(out);
  int first = 1;
  while (first < count && strcmp(words[first], "--") != 0) set(words[first++]);
  words[first] = words[0];
  const int code = load(words[0])(count - first, words + first);
  alarm(0);
  signal(SIGALRM, SIG_DFL);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  return code;
}

static int words_of(char* line, char** words) {
  int count = 0;
  line[strcspn(line, "\n")] = 0;
  for (char* word = strsep(&line, "\t"); word != NULL && count + 1 < kMostWords; word = strsep(&line, "\t")) words[count++] = word;
  words[count] = NULL;
  return count;
}

static void run_cases(FILE* cases, int first_case) {
  static char line[kLine];
  char* words[kMostWords];
  MPI_Comm between;
  const int terminal = dup(1), errors = dup(2);
  PMPI_Comm_dup(MPI_COMM_WORLD, &between);
  for (int index = 0; fgets(line, sizeof line, cases) != NULL; ++index) {
    if (index < first_case) continue;
    const int count = words_of(line, words);
    case_world = MPI_COMM_WORLD;
    if (index > first_case) PMPI_Comm_dup(MPI_COMM_WORLD, &case_world);
    note("begin", index, "");
    const int code = run_case(index, words, count);
    PMPI_Barrier(between);
    keep_report(index);
    redirect(terminal, 1);
    redirect(errors, 2);
    char said[20];
    snprintf(said, sizeof said, " %d", code);
    note("end", index, said);
  }
  PMPI_Comm_free(&between);
}

int main(int argc, char** argv) {
  int provided;
  if (argc < 4) return 2;
  folder = argv[1];
  static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  level = levels[atoi(argv[2])];
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setvbuf(stdout, NULL, _IOLBF, 0);
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.progress", folder, rank);
  progress = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  snprintf(path, sizeof path, "%s/cases", folder);
  FILE* const cases = fopen(path, "re");
  if (progress < 0 || cases == NULL) give_up("cannot open", path);
  run_cases(cases, atoi(argv[3]));
  fclose(cases);
  note("done", 0, "");
  return MPI_Finalize();
}
