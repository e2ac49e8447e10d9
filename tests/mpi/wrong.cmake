# One rank of these jobs runs without crossrail. A rank that has it says so soon, unless the MPI library ends the ranks before (Open MPI, whose
# last rank takes the first message of a nonblocking call for its own).
mpi_test_program(some_ranks_without some_ranks_without.c)
foreach(case openmpi4:alltoall:first openmpi4:ialltoall:first openmpi4:iallreduce:first openmpi4:polled:first openmpi4:alltoall_init:first
    openmpi4:alltoall_init:last mpich4:alltoall:last mpich4:ialltoall:first mpich4:ialltoall:last mpich4:iallreduce:first mpich4:polled:last)
  string(REPLACE ":" ";" words ${case})
  list(GET words 0 mpi)
  list(GET words 1 form)
  list(GET words 2 which)
  # mpirun of Debian 13's Open MPI 5.0.7 has a segmentation fault where a job has two programs.
  set(needs "true")
  if(mpi STREQUAL openmpi4 AND NOT MPI_TEST_openmpi4_MAJOR EQUAL 4)
    set(needs "${MPI_TEST_openmpi4_MPIRUN} -n 1 true : -n 1 true")
  endif()
  # One rank waits 13 seconds, long enough for crossrail to say so. The other one sleeps or has ended.
  mpi_test(some_ranks_without_${form}_${which} ${mpi} 2 SECONDS 40 PROPERTIES PROCESSORS 1 COST 20
    ARGS --needs "${needs}" --without ${which} --exit nonzero --no-pass --expect-once "crossrail.*some rank runs without" some_ranks_without ${form})
endforeach()

# Requests of nonblocking collectives must not be freed or cancelled.
mpi_test_program(given_up given_up.c CASES args)
set(carried --expect-carried MPI_Ialltoall:12 --expect-carried MPI_Iallreduce:12 --forbid-text "have not been completed" --forbid-text "[Ss]egmentation")
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
  mpi_test(given_up ${mpi} 3 SECONDS 80 ARGS ${carried} given_up)
endforeach()
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 mpich5_abi intel intel_abi)
  mpi_test(given_up_threads ${mpi} 3 SECONDS 80 ARGS ${carried} given_up threads)
endforeach()
foreach(mpi openmpi4 openmpi5 mpich5)
  mpi_test(given_up_persistent ${mpi} 3 SECONDS 80 ARGS ${carried} --expect-carried MPI_Alltoall_init:6 given_up persistent)
  mpi_test(given_up_persistent_threads ${mpi} 3 SECONDS 80 ARGS ${carried} --expect-carried MPI_Alltoall_init:6 given_up threads persistent)
endforeach()

# A rank does not wait for its requests. On several nodes they are MPICH 4's own, which leaves the others waiting.
mpi_test_program(forgotten_waits forgotten_waits.c)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(ints 4 5000 20000)
    mpi_test(forgotten_waits_${ints} ${mpi} 3 SECONDS 80 ARGS --expect-carried MPI_Ialltoall:5
      --expect-once "collectives have not been completed" forgotten_waits ${ints})
    if(NOT mpi STREQUAL mpich4)
      mpi_test(forgotten_waits_nodes_${ints} ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1,1 forgotten_waits ${ints})
    endif()
  endforeach()
endforeach()

mpi_test_fortran(forgotten_waits_fortran forgotten_waits.f90)
foreach(mpi openmpi4 mpich4)
  mpi_test(forgotten_waits_fortran ${mpi} 3 SECONDS 80 ARGS --expect-carried MPI_Ialltoall:5 forgotten_waits_fortran)
endforeach()

# Two threads at a time use a communicator that is open. MPICH itself mixes up what they do.
mpi_test_program(unordered_threads unordered_threads.c CASES 3 BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(unordered_threads ${mpi} 3 SECONDS 80 ARGS --set CROSSRAIL_GUARD=0
    --expect-carried MPI_Allreduce:600 --expect-carried MPI_Alltoall:600 unordered_threads 100)
endforeach()

# The threads have little stack, which is enough for the MPI library's own calls.
mpi_test_program(small_stack small_stack.c CASES 2 BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(small_stack ${mpi} 3 ARGS --expect-carried MPI_Alltoall:20 --expect-carried MPI_Allgather:20 small_stack 64)
endforeach()

# Wrong programs run beside the MPI library. Only those are tested in which the library goes on or reports an error
# every time.
mpi_test_program(wrong_programs wrong_programs.c wrong_arguments.c wrong_order.c CASES 0 BUILDS openmpi4 mpich4)
set(both uncommitted_type negative_block in_place_received in_place_both null_operation operations_allreduce operations_scatter
  operations_iallreduce own_operation_allreduce own_operation_scatter left_handler types_scatter types_alltoall types_ialltoall counts_scatter
  counts_alltoall counts_ialltoall pending_kinds in_place_on_one never_completed started_nonblocking init_refused)
set(wrong_under_openmpi4 negative_count same_buffer overlapping types_allreduce counts_allreduce)
set(wrong_under_mpich4 null_communicator freed_communicator null_buffers types_allgather types_iallreduce counts_allgather counts_iallreduce
  started_active freed_active)
foreach(mpi openmpi4 mpich4)
  foreach(case IN LISTS both wrong_under_${mpi})
    mpi_test(wrong_${case} ${mpi} 3 SECONDS 80 ARGS --same-as-native wrong_programs ${case} warm)
  endforeach()
endforeach()

# On two nodes the rank of the other one hears of it by a notice.
foreach(mpi openmpi4 mpich4)
  mpi_test(wrong_own_operation_nodes ${mpi} 3 ALONE SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1 --same-as-native
    --expect-once "rank 1 reduces with an operation of the program's own" wrong_programs own_operation_allreduce warm)
endforeach()
