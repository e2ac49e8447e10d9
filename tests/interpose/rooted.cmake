# These test MPI_Gather, MPI_Scatter and their v forms in Fortran.
mpi_test_fortran(rooted_mpif rooted.F90)
mpi_test_fortran(rooted_use rooted.F90 -DUSE_MODULE)
mpi_test_fortran(rooted_f08 rooted.F90 -DUSE_F08)
set(blocking --set CROSSRAIL_GATHER=node_shared --set CROSSRAIL_GATHERV=node_shared --set CROSSRAIL_SCATTER=node_shared --set CROSSRAIL_SCATTERV=node_shared
  --expect-carried MPI_Gather:40 --expect-carried MPI_Gatherv:20 --expect-carried MPI_Scatter:40 --expect-carried MPI_Scatterv:20)
foreach(interface mpif use f08)
  foreach(ranks 2 3)
    mpi_test(rooted_${interface} openmpi4 ${ranks} ARGS ${blocking} --expect-carried MPI_Igather:20 --expect-carried MPI_Iscatterv:20
      --expect-carried MPI_Gather_init:20 --expect-carried MPI_Scatterv_init:20 rooted_${interface})
    mpi_test(rooted_${interface} mpich4 ${ranks} ARGS ${blocking} rooted_${interface})
  endforeach()
endforeach()
