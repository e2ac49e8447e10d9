// The MPI library of this process: found among the loaded objects, never linked. No mpi.h here.
#pragma once

namespace crossrail::mpi {

struct Library {
  void* handle = nullptr;    // null: this is no MPI program
  const char* flavour = "";  // "openmpi", "mpich", "abi": of the library found
  char version[256] = "";    // what MPI_Get_library_version says, first line
  bool ours = false;         // its flavour is the one this file is compiled for
};

// Found at the first call, said in one line if it is of another flavour than ours.
const Library& library();

// Of MPICH itself, whose first number it is: 5; 0: it is another.
int mpich_version();

// Address of a function of that library; null if it has none.
void* library_symbol(const char* name);
// The same of an MPI function, by the name that follows "MPI_": the library's own PMPI_ or, where it has none, PMPIX_ function.
void* library_function(const char* name);
// Whether that library says that it takes addresses in device memory (CUDA).
bool mpi_takes_device_memory();
// Address of one of its data symbols. An executable may hold its own copy of the library's data
// (copy relocation), which is then the one that everybody uses.
void* library_data(const char* name);

// The next definition of `name` after crossrail's own: another tool's, or the MPI library's. A library that lacks an MPI_ function may have it
// under its MPIX_ name, as Open MPI 4 has the persistent collectives: a program that finds crossrail's MPI_ name then gets that one.
void* next_function(const char* name);

}  // namespace crossrail::mpi
