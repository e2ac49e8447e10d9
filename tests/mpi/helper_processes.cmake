# Helper processes move messages beside the ranks. Results must be right, and where one is killed the job must end with
# a sentence.
mpi_test_program(long_messages long_messages.c)
set(shared --set "CROSSRAIL_ALLREDUCE=multi_lane part=1M processes=3" --set "CROSSRAIL_ALLTOALL=pairwise processes=3" --expect-text "[23] processes a rank"
  --set CROSSRAIL_LOG=1)
if(CROSSRAIL_BENCH)
  foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
    mpi_test(helpers_two_nodes ${mpi} 4 ARGS --helpers 2 --set CROSSRAIL_NODES=0,0,1,1 ${shared} long_messages 1 20)
  endforeach()
  mpi_test(helpers_three_nodes openmpi4 4 ARGS --helpers 2 --set CROSSRAIL_NODES=0,1,2,0 ${shared} long_messages 2 20)
  mpi_test(helpers_threads openmpi4 2 ARGS --helpers 2 --set CROSSRAIL_NODES=0,1 ${shared} long_messages 3 10 threads)
  mpi_test(helpers_threads mpich4 2 ARGS --helpers 1 --set CROSSRAIL_NODES=0,1 ${shared} long_messages 3 10 threads)
  # Only one of two jobs of helper processes has come.
  mpi_test(helpers_missing openmpi4 2 ARGS --helpers 1 --missing-helpers 1 --set CROSSRAIL_NODES=0,1 ${shared} long_messages 4 10)
  foreach(mpi openmpi4 mpich4)
    mpi_test(helpers_killed ${mpi} 2 SECONDS 60 ARGS --helpers 2 --kill-helper 2 --set CROSSRAIL_NODES=0,1 ${shared} --exit nonzero --no-pass
      --expect-text "crossrail.*helper process [01] of this rank has ended" long_messages 5 100000 30)
    # The ranks use devices, and the helpers see the host room.
    mpi_test(helpers_devices ${mpi} 4 ARGS --helpers 2 --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_NODES=0,0,1,1
      --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 ${shared} --expect-carried MPI_Alltoall:30:pairwise device_ranks 12 30 150000)
  endforeach()
endif()
# These programs serve tests/python/helper_processes: 'crossrail run --helpers-per-gpu'.
mpi_test_program(helped helped.c BUILDS openmpi4 openmpi5 mpich4 mpich5)
mpi_test_fortran(helped_f08 helped.f90)
