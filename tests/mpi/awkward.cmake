# Operations of the program's that call MPI, take their time, or leave the call, which MPI does not forbid to all: as without crossrail.
mpi_test_program(awkward_operations awkward_operations.cpp BUILDS openmpi4 openmpi5 mpich4 mpich5)
set(devices --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(form allreduce iallreduce scatter)
    foreach(way slow calls nested)
      mpi_test(awkward_${way}_${form} ${mpi} 2 SECONDS 80 ARGS awkward_operations ${way} ${form})
      mpi_test(awkward_${way}_${form}_devices ${mpi} 2 SECONDS 80 ARGS ${devices} awkward_operations ${way} ${form} devices)
    endforeach()
  endforeach()
endforeach()
# Where MPI libraries themselves go on after a call that was left. Both Open MPIs do nothing any more after a nonblocking one, and do scatter by a
# root that alone calls the operation; MPICH 5 does not always go on after MPI_Allreduce.
foreach(case openmpi4:allreduce openmpi5:allreduce mpich4:allreduce mpich4:iallreduce mpich4:scatter mpich5:iallreduce mpich5:scatter)
  string(REPLACE ":" ";" words ${case})
  list(GET words 0 mpi)
  list(GET words 1 form)
  foreach(way throws jumps)
    mpi_test(awkward_${way}_${form} ${mpi} 2 SECONDS 80 ARGS --same-as-native awkward_operations ${way} ${form})
    mpi_test(awkward_${way}_${form}_devices ${mpi} 2 SECONDS 80 ARGS ${devices} --forbid-text "hangs|failed|result .* returned$"
      --expect-text "left (caught|jumped)" --expect-text "the operation on the same communicator returned, right"
      --expect-text "a sum on the same communicator, allreduce returned, right" awkward_operations ${way} ${form} devices)
  endforeach()
endforeach()
