/* This runs programs that random_programs.py has made: every step on every rank, with every byte compared with what the standard says. It says what
 * is wrong with the program's number and the step.
 *
 *   interpreter FILE LEVEL SECONDS [careful] [driver=LIBRARY] [driverless=RANK]
 *
 * Level of threads: single, serialized or multiple; most seconds for a program; the driver of the devices whose memory sides may lie in, and
 * a rank that does not load it. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "device_memory.h"
#include "streams.h"
#include "traffic.h"

enum { kMostThreads = 4 };

typedef struct {
  Script script;
  uint64_t seed;
  int last; /* The step that ends it has been read. */
} Thread;

static volatile int at_step[kMostThreads];
static char at_word[kMostThreads][16];
static long long program;
static _Thread_local int thread_number;

static void out_of_time(int signal_number) {
  char text[300];
  (void)signal_number;
  int length = snprintf(text, sizeof text, "HANG program %lld:", program);
  for (int i = 0; i < kMostThreads && at_step[i] > 0; ++i) {
    length += snprintf(text + length, sizeof text - (size_t)length, " %s in line %d", at_word[i], at_step[i]);
  }
  text[length++] = '\n';
  if (write(2, text, (size_t)length) < 0) _exit(5);
  _exit(4);
}

/* Settings hold for communicators still to come. Without crossrail there are none. */
static void set_step(Script* script) {
  char name[kWordBytes], value[kWordBytes];
  static int (*set)(const char*, const char*);
  strcpy(name, next_word(script));
  strcpy(value, next_word(script));
  for (char* at = value; *at != '\0'; ++at) {
    if (*at == '~') *at = ' ';
  }
  if (set == NULL) set = (int (*)(const char*, const char*))dlsym(RTLD_DEFAULT, "crossrail_set");
  if (set == NULL) return;
  if (set(name, strcmp(value, "-") == 0 ? "" : value) != 0) give_up("crossrail refuses %s=%s", name, value);
}

/* driver DELAY-US REFUSES-MAPS says how a pretended device behaves. */
static void driver_step(Script* script) {
  const int delay_us = (int)next_number(script), refuses_maps = (int)next_number(script);
  const Driver* const driver = open_driver_of_process();
  if (driver != NULL) driver->behave(delay_us, refuses_maps);
}

static void delay_step(Script* script) {
  const int rank = (int)next_number(script), us = (int)next_number(script), computes = (int)next_number(script);
  if (rank >= 0 && rank != world_rank()) return;
  if (!computes) {
    usleep((useconds_t)us);
    return;
  }
  const double end = MPI_Wtime() + 1e-6 * us;
  while (MPI_Wtime() < end) continue;
}

static void exchange_ended(Operation* operation, const MPI_Status* status) {
  (void)status;
  check_exchange(operation->exchange);
  if (operation->exchange->mode == 'p') return;
  free_exchange(operation->exchange);
  memset(operation, 0, sizeof *operation);
}

static void call_step(Script* script, uint64_t seed) {
  Exchange* const exchange = read_exchange(script, seed);
  if (exchange == NULL) return;
  MPI_Request request = MPI_REQUEST_NULL;
  refill(exchange);
  const int code = call_mpi(exchange, &request);
  CHECK(code == MPI_SUCCESS, "WRONG rank %d: step %d: error %d", world_rank(), exchange->number, code);
  if (exchange->flags & kTypesFreedEarly) free_types_early(exchange);
  if (exchange->mode == 'q') {
    keep_queued(exchange);
    return;
  }
  if (exchange->mode == 'b') {
    check_exchange(exchange);
    free_exchange(exchange);
    return;
  }
  if (exchange->mode == 'n') write_between(exchange);
  Operation* const one = operation_of(exchange->number);
  *one = (Operation){.request = request, .ended = exchange_ended, .exchange = exchange, .active = exchange->mode == 'n'};
}

/* start COUNT numbers... starts one by MPI_Start, several by MPI_Startall. Each must have ended before. */
static void start_step(Script* script) {
  MPI_Request requests[kMostOperations];
  Operation* of[kMostOperations];
  int numbers[kMostOperations], found = 0;
  const int count = (int)next_number(script);
  for (int i = 0; i < count; ++i) {
    const int number = (int)next_number(script);
    Operation* const one = operation_of(number);
    if (one->exchange == NULL) continue;
    numbers[found] = number;
    of[found++] = one;
  }
  complete_all(numbers, found);
  for (int i = 0; i < found; ++i) {
    start_operation(of[i]);
    requests[i] = of[i]->request;
  }
  if (count == 1 && found == 1) MPI_OK(MPI_Start(&requests[0]));
  if (count > 1) MPI_OK(MPI_Startall(found, requests));
  for (int i = 0; i < found; ++i) {
    of[i]->request = requests[i];
    write_between(of[i]->exchange);
  }
}

/* drop NUMBER frees a persistent request, after its last end. */
static void drop_step(Script* script) {
  const int number = (int)next_number(script);
  Operation* const one = operation_of(number);
  if (one->exchange == NULL) return;
  complete_all(&number, 1);
  MPI_OK(MPI_Request_free(&one->request));
  free_exchange(one->exchange);
  memset(one, 0, sizeof *one);
}

/* Returns 0 at the end of the thread's steps. */
static int step(Thread* thread) {
  Script* const script = &thread->script;
  char* const word = at_word[thread_number];
  const char* const next = next_word(script);
  snprintf(word, sizeof at_word[0], "%.15s", next);
  ++at_step[thread_number];
  if (strcmp(word, "comm") == 0) make_team(script);
  else if (strcmp(word, "free") == 0) drain_streams(), free_team(script);
  else if (strcmp(word, "set") == 0) set_step(script);
  else if (strcmp(word, "call") == 0) call_step(script, thread->seed);
  else if (strcmp(word, "start") == 0) start_step(script);
  else if (strcmp(word, "drop") == 0) drop_step(script);
  else if (strcmp(word, "complete") == 0) complete_step(script);
  else if (strcmp(word, "message") == 0) message_step(script);
  else if (strcmp(word, "other") == 0) other_step(script);
  else if (strcmp(word, "delay") == 0) delay_step(script);
  else if (strcmp(word, "driver") == 0) driver_step(script);
  else if (strcmp(word, "drain") == 0) drain_streams();
  else if (strcmp(word, "capture") == 0) capture_step(script);
  else if (strcmp(word, "launch") == 0) launch_step(script);
  else if (strcmp(word, "thread") == 0 || strcmp(word, "end") == 0) return 0;
  else give_up("no step '%s'", word);
  return 1;
}

static void* run_thread(void* argument) {
  Thread* const thread = argument;
  thread_number = (int)thread->last;
  while (step(thread)) continue;
  return NULL;
}

/* Finds the parts of a program, each beginning with `thread`. The first one runs before the others, and alone. */
static int find_parts(const char* text, uint64_t seed, Thread* parts) {
  int found = 0;
  for (const char* at = text; strncmp(at, "end", 3) != 0; at = strchr(at, '\n') + 1) {
    if (strncmp(at, "thread", 6) != 0) continue;
    if (found == kMostThreads) give_up("more than %d threads", kMostThreads);
    parts[found] = (Thread){.script = {.at = at + 6}, .seed = seed, .last = found};
    ++found;
    if (strchr(at, '\n') == NULL) give_up("the program does not end");
  }
  return found;
}

static void run_program(const char* text, uint64_t seed, int own_thread) {
  Thread parts[kMostThreads];
  pthread_t threads[kMostThreads];
  const int count = find_parts(text, seed, parts);
  for (int i = 0; i < kMostThreads; ++i) at_step[i] = 0;
  begin_teams();
  if (own_thread) {
    pthread_create(&threads[0], NULL, run_thread, &parts[0]);
    pthread_join(threads[0], NULL);
  } else {
    run_thread(&parts[0]);
  }
  drain_streams();
  for (int i = 1; i < count; ++i) pthread_create(&threads[i], NULL, run_thread, &parts[i]);
  for (int i = 1; i < count; ++i) pthread_join(threads[i], NULL);
  finish_operations();
  free_teams();
}

static void begin_mpi(int* argc, char*** argv) {
  const char* const name = *argc > 2 ? (*argv)[2] : "single";
  int level = MPI_THREAD_SINGLE, provided = 0;
  if (strcmp(name, "serialized") == 0) level = MPI_THREAD_SERIALIZED;
  if (strcmp(name, "multiple") == 0) level = MPI_THREAD_MULTIPLE;
  MPI_Init_thread(argc, argv, level, &provided);
  if (provided < level) give_up("threads: MPI gives no %s", name);
}

/* The driver comes before any communicator opens. On a machine without devices nobody would expect one later. */
static void read_options(int argc, char** argv) {
  const char* driver = NULL;
  for (int i = 4; i < argc; ++i) {
    if (strcmp(argv[i], "careful") == 0) careful = 1;
    else if (strncmp(argv[i], "driver=", 7) == 0) driver = argv[i] + 7;
    else if (strncmp(argv[i], "driverless=", 11) != 0) give_up("no option '%s'", argv[i]);
    else {
      if (atoi(argv[i] + 11) == world_rank()) driver = "";
      make_no_graphs();
    }
  }
  if (driver != NULL && driver[0] != '\0') open_driver(driver, world_rank());
}

int main(int argc, char** argv) {
  begin_mpi(&argc, &argv);
  if (argc < 4) give_up("interpreter FILE LEVEL SECONDS");
  if (world_size() > kMostRanks) give_up("more than %d ranks", kMostRanks);
  read_options(argc, argv);
  char* const text = read_file(argv[1]);
  const int own_thread = strcmp(argv[2], "serialized") == 0;
  Script script = {.at = text};
  signal(SIGALRM, out_of_time);
  while (strcmp(next_word(&script), "program") == 0) {
    program = next_number(&script);
    if (world_rank() == 0) fprintf(stderr, "BEGIN %lld\n", program);
    alarm((unsigned)atoi(argv[3]));
    run_program(script.at, (uint64_t)program, own_thread);
    MPI_Barrier(MPI_COMM_WORLD);
    if (failed_checks > 0) {
      fprintf(stderr, "FOUND %lld\n", program);
      _exit(1);
    }
    script.at = strstr(script.at, "\nend\n");
    if (script.at == NULL) give_up("program %lld does not end", program);
    script.at += 4;
  }
  free(text);
  const int result = verdict();
  alarm((unsigned)atoi(argv[3]));
  MPI_Finalize();
  return result;
}
