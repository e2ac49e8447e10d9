/* This is preloaded. It is an MPI library whose default INTEGER of Fortran has 8 bytes, as one built with -i8, in what it says to crossrail. */
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

typedef int (*TypeSize)(MPI_Datatype, int*);
static TypeSize real_type_size;

static int type_size(MPI_Datatype type, int* bytes) {
  const int code = real_type_size(type, bytes);
  if (type == MPI_INTEGER) *bytes = 8;
  return code;
}

void* dlsym(void* handle, const char* name) {
  static void* (*real)(void*, const char*);
  if (real == NULL) real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real == NULL) real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void* const found = real(handle, name);
  if (found == NULL || strcmp(name, "PMPI_Type_size") != 0) return found;
  real_type_size = (TypeSize)found;
  return (void*)type_size;
}
