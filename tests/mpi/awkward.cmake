# Operations of the program call MPI, take their time, or leave the call, which MPI does not forbid to all of them. The results must be
# the same as without crossrail.
mpi_test_program(awkward_operations awkward_operations.cpp CASES 0 BUILDS openmpi4 openmpi5 mpich4 mpich5)
set(devices --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(form allreduce iallreduce scatter)
    foreach(way slow calls nested)
      mpi_test(awkward_${way}_${form} ${mpi} 2 SECONDS 80 ARGS awkward_operations ${way} ${form})
      mpi_test(awkward_${way}_${form}_devices ${mpi} 2 SECONDS 80 ARGS ${devices} awkward_operations ${way} ${form} devices)
    endforeach()
  endforeach()
endforeach()
# These are the cases where MPI libraries themselves go on after a call that was left. Both Open MPIs do nothing any more after a nonblocking one,
# and do scatter by a root that alone calls the operation. MPICH 5 does not always go on after MPI_Allreduce.
foreach(case openmpi4:allreduce openmpi5:allreduce mpich4:allreduce mpich4:iallreduce mpich4:scatter mpich5:iallreduce mpich5:scatter)
  string(REPLACE ":" ";" words ${case})
  list(GET words 0 mpi)
  list(GET words 1 form)
  foreach(way throws jumps)
    mpi_test(awkward_${way}_${form} ${mpi} 2 ALONE SECONDS 80 ARGS --same-as-native awkward_operations ${way} ${form})
    mpi_test(awkward_${way}_${form}_devices ${mpi} 2 ALONE SECONDS 80 ARGS ${devices} --forbid-text "hangs|failed|result .* returned$"
      --expect-text "left (caught|jumped)" --expect-text "the operation on the same communicator returned, right"
      --expect-text "a sum on the same communicator, allreduce returned, right" awkward_operations ${way} ${form} devices)
  endforeach()
endforeach()

# A timer interrupts system calls all the time, crossrail's as well (memory is made while a communicator opens; waits; reads of other processes).
mpi_test_program(interrupted interrupted.c CASES 0)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(interrupted ${mpi} 4 ARGS --expect-carried MPI_Alltoall:50 --expect-carried MPI_Allreduce:50 interrupted)
  mpi_test(interrupted_nodes ${mpi} 4 ARGS --set CROSSRAIL_NODES=0,0,1,1 --expect-carried MPI_Alltoall:30 interrupted)
endforeach()

# Each call differs from the call before in at most one thing. Open MPI also refuses some of them; Debian's MPICH does not check arguments.
mpi_test_program(like_the_last like_the_last.c CASES 0)
foreach(mpi IN LISTS MPI_TEST_MPIS)
  string(REGEX MATCH "^openmpi" refuses ${mpi})
  if(refuses)
    set(refuses refusals)
  endif()
  mpi_test(like_the_last ${mpi} 3 ARGS --expect-carried MPI_Allreduce:100 --expect-carried MPI_Alltoall:100 --expect-carried MPI_Allgather:100
    --expect-carried MPI_Reduce_scatter_block:100 like_the_last 1 3000 ${refuses})
  mpi_test(like_the_last_nodes ${mpi} 3 ARGS --set CROSSRAIL_NODES=0,0,1 --expect-carried MPI_Alltoall:50 like_the_last 2 1000 ${refuses})
endforeach()

# One rank uses one address for both sides. What MPICH does with it must not depend on that rank alone.
mpi_test_program(same_base same_base.c CASES 0)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 mpich5_abi intel)
  mpi_test(same_base ${mpi} 3 ARGS --expect-carried MPI_Alltoall:20 --expect-carried MPI_Alltoallv:20 same_base)
  mpi_test(same_base_nodes ${mpi} 3 ARGS --set CROSSRAIL_NODES=0,0,1 same_base)
endforeach()
