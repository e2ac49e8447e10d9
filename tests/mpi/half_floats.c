/* The program makes allreduces of 16-bit floats, where the MPI library has such types, of whole numbers that are exact in them. It says which were
 * tried. */
#include "check.h"
#include <dlfcn.h>
#if __has_include(<mpi-ext.h>) /* Open MPI has it. */
#include <mpi-ext.h>
#endif

enum { kCount = 1000 };

/* Returns the bits of 1 to 128, by the exponent and the bits behind the first. */
static unsigned short bits_of(int whole, int fraction, int bias) {
  int exponent = 0;
  while (whole >> exponent > 1) ++exponent;
  return (unsigned short)((exponent + bias) << fraction | (((unsigned)whole << fraction >> exponent) & ((1u << fraction) - 1)));
}

/* A header may have a type that the library was built without, which has no name then (MPICH 4.0). */
static int exists(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int bytes = 0, length = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int there = type != MPI_DATATYPE_NULL && MPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes == 2 &&
                    MPI_Type_get_name(type, name, &length) == MPI_SUCCESS && length > 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  return there;
}

static void try_type(MPI_Datatype type, const char* name, int fraction, int bias) {
  static unsigned short send[kCount], recv[kCount];
  const char* (*last_algorithm)(void) = NULL;
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  if (!exists(type)) return;
  for (int call = 0; call < 30; ++call) {
    const int count = call % 2 == 0 ? 3 : kCount, most = call % 3 == 0;
    int sum = 0;
    for (int other = 0; other < size; ++other) sum = most ? other + 1 : sum + other + 1;
    for (int i = 0; i < count; ++i) send[i] = bits_of(rank + 1, fraction, bias);
    MPI_OK(MPI_Allreduce(send, recv, count, type, most ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i) CHECK(recv[i] == bits_of(sum, fraction, bias), "%s: %x, not %x", name, recv[i], bits_of(sum, fraction, bias));
    if (call > 10) CHECK(strcmp(last_algorithm(), "native") != 0, "%s: native in call %d", name, call);
  }
  if (rank == 0) printf("tried %s\n", name);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef MPIX_C_FLOAT16
  try_type(MPIX_C_FLOAT16, "MPIX_C_FLOAT16", 10, 15);
#endif
#ifdef MPIX_BFLOAT16
  try_type(MPIX_BFLOAT16, "MPIX_BFLOAT16", 7, 127);
#endif
  (void)try_type;
  const int result = verdict();
  MPI_Finalize();
  return result;
}
