# Each rank is in a namespace of its own, as some containers have them. No rank reads another's memory there, or opens its descriptors. The MPI
# libraries' own messages go by the network there: Open MPI 4 crashes in pid namespaces otherwise, and MPICH 5 ends with an error when it tries to
# read another rank's memory. MPICH 4 is not tested in them: without crossrail, too, its MPI_Finalize waits for ever now and then.
set(in_pid_space --wrap ${PROJECT_SOURCE_DIR}/tests/modules/pid_space.sh --needs "unshare --pid --fork --kill-child --mount-proc true")
set(in_user_space --wrap ${CMAKE_CURRENT_SOURCE_DIR}/user_space.sh --needs "unshare --user --map-root-user true")
set(by_network_openmpi4 --set OMPI_MCA_btl=self,tcp)
set(by_network_mpich5 --set MPIR_CVAR_NOLOCAL=1)
foreach(mpi openmpi4 mpich5)
  foreach(space pid user)
    set(apart ${in_${space}_space} ${by_network_${mpi}} --clean-shm --set CROSSRAIL_LOG=1 --expect-text "segment shared, single copy not allowed")
    mpi_test(apart_${space} ${mpi} 3 ARGS ${apart} --expect-carried MPI_Alltoall:60:node_shared differential 31 150)
    mpi_test(apart_${space}_single_copy ${mpi} 3 ARGS ${apart} --set CROSSRAIL_ALLTOALL=node_single_copy --expect-carried MPI_Alltoall:15 differential 32 60)
    mpi_test(apart_${space}_vector ${mpi} 3 ARGS ${apart} --set CROSSRAIL_ALLTOALLV=node_shared --expect-carried MPI_Alltoallv:10:node_shared
      differential_vector 33 150 5000)
  endforeach()
endforeach()
