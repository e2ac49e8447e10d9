/* The program prints what MPI_T tells of the MPI library's own variables and categories, one line 'result rank 0 ...' each, the same with crossrail
 * and without. MPI_T is asked before MPI_Init, too: the MPI library may have fewer then. */
#include <strings.h>

#include "check.h"

enum { kText = 8192, kMost = 20000 };

static char name[kText], help[kText];

static int is_ours(void) { return strncmp(name, "crossrail", 9) == 0; }

static int size_of(MPI_Datatype type) {
  int size = -1;
  if (type != MPI_DATATYPE_NULL) MPI_OK(MPI_Type_size(type, &size));
  return size;
}

static void controls(void) {
  int count = 0;
  MPI_OK(MPI_T_cvar_get_num(&count));
  for (int index = 0; index < count; ++index) {
    int length = kText, help_length = kText, verbosity = 0, bind = 0, scope = 0, again = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum of = MPI_T_ENUM_NULL;
    name[0] = help[0] = '\0';
    const int code = MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, &of, help, &help_length, &bind, &scope);
    if (is_ours()) continue;
    printf("result rank 0 control %d %s %d %d %d %d %d %d %d: %s\n", code, name, length, verbosity, size_of(type), of != MPI_T_ENUM_NULL, help_length, bind, scope, help);
    if (code == MPI_SUCCESS && MPI_T_cvar_get_index(name, &again) == MPI_SUCCESS) CHECK(again == index, "%s: %d and %d", name, index, again);
  }
}

static void performance(void) {
  int count = 0;
  MPI_OK(MPI_T_pvar_get_num(&count));
  for (int index = 0; index < count; ++index) {
    int length = kText, help_length = kText, verbosity = 0, class = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0, again = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    name[0] = help[0] = '\0';
    const int code = MPI_T_pvar_get_info(index, name, &length, &verbosity, &class, &type, NULL, help, &help_length, &bind, &readonly, &continuous, &atomic);
    if (is_ours()) continue;
    printf("result rank 0 performance %d %s %d %d %d %d %d %d %d %d %d: %s\n", code, name, length, verbosity, class, size_of(type), help_length, bind, readonly,
           continuous, atomic, help);
    if (code == MPI_SUCCESS && MPI_T_pvar_get_index(name, class, &again) == MPI_SUCCESS) printf("result rank 0 found %s %s\n", name, again == index ? "at its index" : "elsewhere");
  }
}

static int control_name(int index, int* length) { return MPI_T_cvar_get_info(index, name, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL); }
static int performance_name(int index, int* length) {
  return MPI_T_pvar_get_info(index, name, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int category_name(int index, int* length) { return MPI_T_category_get_info(index, name, length, NULL, NULL, NULL, NULL, NULL); }

/* Prints what is in a category, by names. */
static void members(int category, int count, const char* what, int (*list)(int, int, int*), int (*name_of)(int, int*)) {
  static int listed[kMost];
  static char of[kText];
  int length = kText;
  MPI_OK(category_name(category, &length));
  strcpy(of, name);
  for (int one = 0; one < kMost; ++one) listed[one] = -7;
  if (count > 0) MPI_OK(list(category, kMost, listed));
  for (int one = 0; one < count && listed[one] != -7; ++one) {
    name[0] = '\0';
    length = kText;
    const int code = name_of(listed[one], &length);
    printf("result rank 0 %s has %s %d %s\n", of, what, code, name);
    CHECK(!is_ours(), "%s in %s", name, of);
  }
  if (count > 0) CHECK(listed[count] == -7, "more of %s in %s than there are", what, of);
}

static void categories(void) {
  int count = 0;
  MPI_OK(MPI_T_category_get_num(&count));
  for (int index = 0; index < count; ++index) {
    int length = kText, help_length = kText, controls_in = 0, performance_in = 0, categories_in = 0;
    name[0] = help[0] = '\0';
    const int code = MPI_T_category_get_info(index, name, &length, help, &help_length, &controls_in, &performance_in, &categories_in);
    if (is_ours()) continue;
    printf("result rank 0 category %d %s %d %d %d %d %d: %s\n", code, name, length, help_length, controls_in, performance_in, categories_in, help);
    if (code != MPI_SUCCESS) continue;
    members(index, controls_in, "control", MPI_T_category_get_cvars, control_name);
    members(index, performance_in, "performance", MPI_T_category_get_pvars, performance_name);
    members(index, categories_in, "category", MPI_T_category_get_categories, category_name);
  }
}

/* Reads a variable of the MPI library's by its own handle. It does not read those of Open MPI's components, whose memory may be gone, and not one
 * that Open MPI 5 leaves as it finds it. */
static void read_some(void) {
  int count = 0, read = 0;
  MPI_OK(MPI_T_cvar_get_num(&count));
  for (int index = 0; index < count && read < 200; ++index) {
    int length = kText, bind = -1, number = 0, value[64] = {0};
    MPI_T_cvar_handle handle;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_cvar_get_info(index, name, &length, NULL, &type, NULL, NULL, NULL, &bind, NULL) != MPI_SUCCESS || strncasecmp(name, "mpi", 3) != 0) continue;
    if (strcmp(name, "mpi_ft_verbose") == 0) continue;
    if (type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(index, NULL, &handle, &number) != MPI_SUCCESS || number > 64) continue;
    const int code = MPI_T_cvar_read(handle, value);
    printf("result rank 0 value %d %s %d\n", code, name, value[0]);
    MPI_OK(MPI_T_cvar_handle_free(&handle));
    ++read;
  }
}

int main(int argc, char** argv) {
  int provided = 0, count = 0;
  MPI_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_OK(MPI_T_cvar_get_num(&count));
  MPI_OK(MPI_T_pvar_get_num(&count));
  MPI_OK(MPI_T_category_get_num(&count));
  MPI_Init(&argc, &argv);
  controls();
  performance();
  categories();
  read_some();
  const int result = verdict();
  MPI_OK(MPI_T_finalize()); /* This is before MPI_Finalize: afterwards Open MPI 4 crashes. */
  MPI_Finalize();
  return result;
}
