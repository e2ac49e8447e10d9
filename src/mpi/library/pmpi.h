// This header gives access to the table of the PMPI_ functions of the program's MPI library.
#pragma once

#include <atomic>

#include "base/status.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct Functions {
#define FUNCTION(name, needed) decltype(&MPI_##name) name = nullptr;
#include "mpi/library/functions.def"
#undef FUNCTION
};

// This holds the table once it has been found, until MPI is over.
extern std::atomic<const Functions*> known_functions;
const Functions* look_for_functions();
// Returns null if there is no MPI library, if it is of another flavour or lacks a needed function, or if MPI is over.
inline const Functions* find_functions() {
  const Functions* const known = known_functions.load(std::memory_order_acquire);
  return known != nullptr ? known : look_for_functions();
}

// A program may initialize MPI again, by sessions, and by then our handles, keyvals first of all, may be others'. So find_functions()
// returns null from now on, and all calls are native.
void mpi_is_over();

// Returns the table. It may be called only after find_functions() has returned one.
inline const Functions& pmpi() {
  static const Functions& functions = *find_functions();
  return functions;
}

// These are the predefined handles that the hot path needs. For Open MPI they are addresses found by name, so they are looked up only once.
struct Handles {
  MPI_Comm comm_null = MPI_COMM_NULL;
  MPI_Comm comm_self = MPI_COMM_SELF;
  MPI_Comm comm_world = MPI_COMM_WORLD;
  MPI_Datatype type_null = MPI_DATATYPE_NULL;
  MPI_Datatype byte = MPI_BYTE;
  MPI_Datatype whole_number = MPI_INT;
  MPI_Op maximum = MPI_MAX;
  MPI_Op bitwise_or = MPI_BOR;
  MPI_Request request_null = MPI_REQUEST_NULL;
};

inline const Handles& handles() {
  static const Handles known;
  return known;
}

// Lets MPI move the messages that are under way, without receiving any. Under MPICH 5.0 this does not work on MPI_COMM_SELF.
inline void let_mpi_progress(MPI_Comm comm) {
  int flag = 0;
  (void)pmpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
}

// Returns whether other MPI functions may be called; where they may not, MPI libraries end the program. It may fail with invalid.
inline Status mpi_is_up() {
  int initialized = 0, finalized = 0;
  if (find_functions() == nullptr) return failed(Code::invalid, "there is no MPI library that crossrail knows");
  if (pmpi().Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return failed(Code::invalid, "MPI has not been initialized");
  if (pmpi().Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return failed(Code::invalid, "MPI has been finalized");
  return {};
}

// It may fail with system.
inline Status from_mpi(int code, const char* function) {
  return code == MPI_SUCCESS ? Status{} : failure(Code::system, "%s returned error %d", function, code);
}

}  // namespace crossrail::mpi
