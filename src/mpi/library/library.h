// This is the interface to the MPI library of this process. The library is found among the loaded objects and never linked. This header
// does not include mpi.h.
#pragma once

namespace crossrail::mpi {

struct Library {
  void* handle = nullptr;    // This is null if the process runs no MPI program.
  const char* flavour = "";  // This is the flavour of the library found: "openmpi", "mpich" or "abi".
  char version[256] = "";    // This is the first line of what MPI_Get_library_version says.
  bool ours = false;         // It says whether the flavour is the one that this file is compiled for.
};

// Finds the library at the first call, and logs a line if its flavour is not ours.
const Library& library();

// Returns the major version of MPICH, or 0 if the library is not MPICH.
int mpich_version();

// Returns the address of a function of that library, or null if it has none of this name.
void* library_symbol(const char* name);
// This does the same as library_symbol for an MPI function, by the name that follows "MPI_". It looks for the PMPI_ function and then, since
// older libraries have some functions only as extensions, for PMPIX_.
void* library_function(const char* name);
// Returns whether that library says that it takes addresses in device memory (CUDA).
bool mpi_takes_device_memory();
// Returns the address of one of its data symbols. An executable may hold its own copy of the library's data (copy relocation), which is
// then the one that everybody uses.
void* library_data(const char* name);

// Returns the next definition of `name` after crossrail's own: another tool's, or the MPI library's. If a library lacks an MPI_ function,
// this may be its MPIX_ function: Open MPI 4 has the persistent collectives only as such, and a program that looks for the MPI_ name finds
// ours.
void* next_function(const char* name);

}  // namespace crossrail::mpi
