/* The program checks MPI_T: crossrail's settings and counters stand beside the variables of the MPI library.
 *
 *   tool_variables [counted]     counted: with a report; otherwise counting begins when a tool asks
 *   tool_variables off           CROSSRAIL=off: none is shown */
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

enum { kName = 512, kMost = 20000, kValue = 4096 };

static char* names_seen[kMost];

static int is_ours(const char* name) { return strncmp(name, "crossrail", 9) == 0; }

static int control_count(void) {
  int count = -1;
  MPI_OK(MPI_T_cvar_get_num(&count));
  return count;
}

static int control_index(const char* name) {
  int index = -1;
  const int code = MPI_T_cvar_get_index(name, &index);
  CHECK(code == MPI_SUCCESS, "%s: error %d", name, code);
  return index;
}

/* Walks through all variables, among them `expected` of ours. A variable that was seen before has the index that it had. */
static void walk(int expected) {
  int ours = 0, misplaced = 0;
  const int count = control_count();
  for (int index = 0; index < count && index < kMost; ++index) {
    char name[kName] = "", help[8] = "";
    int length = kName, help_length = sizeof help, verbosity, bind, scope, again = -1;
    MPI_Datatype type;
    const int code = MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, NULL, help, &help_length, &bind, &scope);
    if (code == MPI_T_ERR_INVALID_INDEX) continue; /* Open MPI takes variables back. */
    MPI_OK(code);
    if (names_seen[index] == NULL) names_seen[index] = strdup(name);
    misplaced += strcmp(names_seen[index], name) != 0;
    if (!is_ours(name)) continue;
    ++ours;
    CHECK(length == (int)strlen(name) + 1 && help_length > 8 && strlen(help) == 7, "lengths %d, %d of %s", length, help_length, name);
    CHECK(type == MPI_CHAR && bind == MPI_T_BIND_NO_OBJECT, "%s: another type, or bound to %d", name, bind);
    CHECK(scope == MPI_T_SCOPE_ALL_EQ || scope == MPI_T_SCOPE_CONSTANT, "%s: scope %d", name, scope);
    MPI_OK(MPI_T_cvar_get_index(name, &again));
    CHECK(again == index, "%s has index %d and %d", name, index, again);
  }
  CHECK(misplaced == 0, "%d indices have changed", misplaced);
  CHECK(expected ? ours > 25 : ours == 0, "%d of %d are ours", ours, count);
}

static void unknown_indices(void) {
  int count = 0;
  char name[kName];
  MPI_OK(MPI_T_pvar_get_num(&count));
  const int wrong[] = {-1, 1 << 30};
  for (int one = 0; one < 2; ++one) {
    int length = kName, other = kName, number = 0;
    MPI_T_cvar_handle handle;
    int code = MPI_T_cvar_get_info(wrong[one], name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(code == MPI_T_ERR_INVALID_INDEX, "cvar %d: code %d", wrong[one], code);
    code = MPI_T_cvar_handle_alloc(wrong[one], NULL, &handle, &number);
    CHECK(code == MPI_T_ERR_INVALID_INDEX, "handle of %d: code %d", wrong[one], code);
    code = MPI_T_pvar_get_info(one == 0 ? -1 : count, name, &other, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(code == MPI_T_ERR_INVALID_INDEX, "pvar %d: code %d", one == 0 ? -1 : count, code);
  }
  int code = MPI_T_cvar_get_index("crossrail_nothing", &count);
  CHECK(code == MPI_T_ERR_INVALID_NAME, "a name that nobody has: code %d", code);
  code = MPI_T_pvar_get_index("crossrail_alltoall_carried", MPI_T_PVAR_CLASS_TIMER, &count);
  CHECK(code == MPI_T_ERR_INVALID_NAME, "another class: code %d", code);
}

/* Returns what it says. If a value is given, it is written first, and must be answered by this code. */
static const char* setting(const char* name, const char* written, int expected) {
  static char value[kValue];
  MPI_T_cvar_handle handle;
  int count = 0;
  MPI_OK(MPI_T_cvar_handle_alloc(control_index(name), NULL, &handle, &count));
  CHECK(count == kValue, "%s: %d characters", name, count);
  const int code = written == NULL ? expected : MPI_T_cvar_write(handle, written);
  CHECK(code == expected, "%s = %s: code %d, not %d", name, written, code, expected);
  MPI_OK(MPI_T_cvar_read(handle, value));
  MPI_OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL, "the handle is still there");
  return value;
}

static void category(int expected) {
  int index = -1, controls = 0, performance = 0, inside = -1, listed[200], ours = 0, all = 0;
  const int code = MPI_T_category_get_index("crossrail", &index);
  CHECK((code == MPI_SUCCESS) == expected, "category: code %d", code);
  if (code != MPI_SUCCESS) return;
  char name[kName];
  int length = kName;
  MPI_OK(MPI_T_category_get_num(&all));
  MPI_OK(MPI_T_category_get_info(index, name, &length, NULL, NULL, &controls, &performance, &inside));
  CHECK(strcmp(name, "crossrail") == 0 && index < all && inside == 0, "category %d of %d is %s", index, all, name);
  CHECK(controls > 25 && controls < 200 && performance > 25 && performance < 200, "%d and %d variables", controls, performance);
  MPI_OK(MPI_T_category_get_cvars(index, 200, listed));
  for (int one = 0; one < controls; ++one) {
    length = kName;
    MPI_OK(MPI_T_cvar_get_info(listed[one], name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ours += is_ours(name);
  }
  CHECK(ours == controls, "%d of %d are ours", ours, controls);
}

static unsigned long long counter(MPI_T_pvar_session session, const char* name, int class) {
  MPI_T_pvar_handle handle;
  unsigned long long value = 0;
  int index = -1, count = 0;
  MPI_OK(MPI_T_pvar_get_index(name, class, &index));
  MPI_OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  CHECK(count == 1, "%s: %d values", name, count);
  MPI_OK(MPI_T_pvar_read(session, handle, &value));
  int code = MPI_T_pvar_start(session, handle);
  CHECK(code == MPI_T_ERR_PVAR_NO_STARTSTOP, "start: code %d", code);
  code = MPI_T_pvar_reset(session, handle);
  CHECK(code == MPI_T_ERR_PVAR_NO_WRITE, "reset: code %d", code);
  unsigned long long unused;
  code = MPI_T_pvar_readreset(session, handle, &unused);
  CHECK(code == MPI_T_ERR_PVAR_NO_ATOMIC, "readreset: code %d", code);
  MPI_OK(MPI_T_pvar_handle_free(session, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL, "the handle is still there");
  return value;
}

static double seconds(MPI_T_pvar_session session) {
  MPI_T_pvar_handle handle;
  double value = -1;
  int index = -1, count = 0;
  MPI_OK(MPI_T_pvar_get_index("crossrail_alltoall_seconds", MPI_T_PVAR_CLASS_TIMER, &index));
  MPI_OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  MPI_OK(MPI_T_pvar_read(session, handle, &value));
  MPI_OK(MPI_T_pvar_handle_free(session, &handle));
  return value;
}

static void calls(void) {
  MPI_T_pvar_session session;
  MPI_OK(MPI_T_pvar_session_create(&session));
  const unsigned long long bytes_before = counter(session, "crossrail_alltoall_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
  const unsigned long long before = counter(session, "crossrail_alltoall_carried", MPI_T_PVAR_CLASS_COUNTER);
  const double seconds_before = seconds(session);
  for (int one = 0; one < 5; ++one) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, one));
  const unsigned long long after = counter(session, "crossrail_alltoall_carried", MPI_T_PVAR_CLASS_COUNTER);
  const unsigned long long bytes = counter(session, "crossrail_alltoall_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE) - bytes_before;
  CHECK(after == before + 5, "after 5 calls %llu, before %llu", after, before);
  CHECK(bytes == 5ull * 3 * sizeof(int) * (unsigned)size_of_comm(MPI_COMM_WORLD), "%llu bytes", bytes);
  CHECK(seconds(session) > seconds_before, "no time has passed in calls");
  CHECK(counter(session, "crossrail_communicators", MPI_T_PVAR_CLASS_COUNTER) >= 1, "no communicator");
  CHECK(counter(session, "crossrail_alltoallv_carried", MPI_T_PVAR_CLASS_COUNTER) == 0, "another collective");
  MPI_OK(MPI_T_pvar_session_free(&session));
}

/* A setting that is written holds for communicators still to come. */
static void write_settings(void) {
  const char* (*const last)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  MPI_Comm comm;
  CHECK(strcmp(setting("crossrail_alltoall", "linear", MPI_SUCCESS), "linear") == 0, "not what was written");
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_OK(checked_alltoall(comm, 3, 7));
  CHECK(last != NULL && strcmp(last(), "linear") == 0, "carried by %s", last == NULL ? "nobody" : last());
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 8));
  CHECK(last != NULL && strcmp(last(), "linear") != 0, "on an older communicator, too");
  CHECK(strcmp(setting("crossrail_alltoall", "no_such_way", MPI_T_ERR_INVALID), "linear") == 0, "changed to nonsense");
  CHECK(strcmp(setting("crossrail_slots", "x", MPI_T_ERR_INVALID), "4") == 0, "changed to nonsense");
  (void)setting("crossrail_report", "/", MPI_T_ERR_CVAR_SET_NEVER);
  CHECK(strcmp(setting("crossrail_alltoall", "", MPI_SUCCESS), "") == 0, "not what was written");
  MPI_OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  const int shown = argc < 2 || strcmp(argv[1], "off") != 0;
  if (argc < 2 && getenv("CROSSRAIL_REPORT") != NULL) {
    unsetenv("CROSSRAIL_REPORT");
    execv(argv[0], argv);
  }
  int provided = 0, index = 0;
  MPI_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  walk(shown);
  category(shown);
  if (shown) CHECK(strcmp(setting("crossrail_slots", NULL, MPI_SUCCESS), "4") == 0, "slots before MPI_Init");
  MPI_Init(&argc, &argv);
  walk(shown);
  category(shown);
  if (shown) unknown_indices(); /* MPICH crashes. */
  for (int i = 0; i < 3; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, i));
  if (!shown) CHECK(MPI_T_cvar_get_index("crossrail_slots", &index) == MPI_T_ERR_INVALID_NAME, "found, though off");
  if (shown) calls();
  if (shown) write_settings();
  const int result = verdict();
#ifdef OPEN_MPI /* Open MPI 4.1 crashes where MPI_T goes on after MPI. */
  MPI_OK(MPI_T_finalize());
  MPI_Finalize();
#else
  MPI_Finalize();
  walk(shown);
  MPI_OK(MPI_T_finalize());
#endif
  return result != 0 || failed_checks != 0;
}
