/* This header is compiled in front of programs that many_cases.c loads. Many of them run in one MPI job, one after the other. MPI is initialized and
 * finalized around all of them, and each has a world of its own, of the same ranks. */
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
extern MPI_Comm case_world;
int case_init(void);
int case_init_thread(int required, int* provided);
int case_finalize(void);
int case_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
#ifdef __cplusplus
}
#endif

__attribute__((visibility("default"))) int main(int argc, char** argv);

#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD case_world
#define MPI_Init(argc, argv) ((void)(argc), (void)(argv), case_init())
#define MPI_Init_thread(argc, argv, required, provided) ((void)(argc), (void)(argv), case_init_thread(required, provided))
#define MPI_Finalize() case_finalize()
#define MPI_Comm_set_errhandler(comm, handler) case_set_errhandler(comm, handler)
