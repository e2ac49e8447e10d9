# The program calls MPI_Gather, MPI_Scatter and their v forms, in all forms, with every algorithm.
mpi_test_program(rooted rooted.c random_types.c random_comms.c)
set(all_four --set CROSSRAIL_GATHER=node_shared --set CROSSRAIL_GATHERV=node_shared --set CROSSRAIL_SCATTER=node_shared --set CROSSRAIL_SCATTERV=node_shared
  --expect-carried MPI_Gather:12 --expect-carried MPI_Gatherv:12 --expect-carried MPI_Scatter:12 --expect-carried MPI_Scatterv:12)
foreach(mpi IN LISTS MPI_TEST_MPIS)
  foreach(ranks 2 4)
    mpi_test(rooted ${mpi} ${ranks} ARGS ${all_four} --clean-shm rooted ${ranks} 500)
    mpi_test(rooted_default ${mpi} ${ranks} ARGS --expect-carried MPI_Gather:5 --expect-carried MPI_Scatter:5 rooted ${ranks} 500)
  endforeach()
endforeach()
foreach(mpi openmpi4 mpich5)
  foreach(row direct binomial node_single_copy)
    mpi_test(rooted_${row} ${mpi} 4 ARGS --set CROSSRAIL_GATHER=${row} --set CROSSRAIL_SCATTER=${row} --expect-carried MPI_Gather:10:${row}
      --expect-carried MPI_Scatter:10:${row} rooted 5 400)
  endforeach()
  foreach(nodes 0,0,1,1 0,1,1,1 0,1,0,1)
    string(REPLACE "," "" name ${nodes})
    foreach(row direct binomial leader_direct)
      mpi_test(rooted_${row}_${name} ${mpi} 4 ARGS --set CROSSRAIL_GATHER=${row} --set CROSSRAIL_SCATTER=${row} --set CROSSRAIL_GATHERV=direct
        --set CROSSRAIL_SCATTERV=direct --set CROSSRAIL_NODES=${nodes} --expect-carried MPI_Gather:10:${row} --expect-carried MPI_Scatter:10:${row}
        --expect-carried MPI_Gatherv:10:direct --expect-carried MPI_Scatterv:10:direct rooted 6 300)
    endforeach()
  endforeach()
  mpi_test(rooted_no_segment ${mpi} 4 ARGS --set CROSSRAIL_SEGMENT=none rooted 8 300)
endforeach()
mpi_test(rooted_little_scratch openmpi4 4 ARGS --set CROSSRAIL_SCRATCH=64K rooted 9 300)
mpi_test(rooted_off openmpi4 2 ARGS --set CROSSRAIL=0 --expect-native MPI_Gather:40 --expect-native MPI_Scatterv:40 rooted 10 400)
foreach(mpi openmpi4 mpich4)
  mpi_test(rooted_device ${mpi} 3 ARGS --libraries ${MPI_TEST_PRETEND} --set PRETEND_DRIVER=${MPI_TEST_PRETEND}/libcuda.so.1 ${all_four} rooted 11 400)
endforeach()

# What MPI forbids is the MPI library's error.
mpi_test_program(wrong_rooted wrong_rooted.c)
foreach(mpi openmpi4 mpich4)
  mpi_test(wrong_rooted ${mpi} 3 ARGS --same-as-native ${all_four} wrong_rooted)
endforeach()
