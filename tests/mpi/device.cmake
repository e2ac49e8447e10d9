# Processes make calls on device memory, on a device that is made of host memory. Its driver and its module lie beside
# copies of crossrail's libraries.
set(MPI_TEST_HOST_DEVICE ${MPI_TEST_PROGRAMS}/host_device)
mpi_test_libraries(${MPI_TEST_HOST_DEVICE} libraries)
list(APPEND libraries ${MPI_TEST_HOST_DEVICE}/libcuda.so.1 ${MPI_TEST_HOST_DEVICE}/libcrossrail_cuda.so)
set(sources ${PROJECT_SOURCE_DIR}/virtual_world/host_device.cpp ${PROJECT_SOURCE_DIR}/virtual_world/host_driver.cpp
  ${PROJECT_SOURCE_DIR}/virtual_world/host_captures.cpp ${PROJECT_SOURCE_DIR}/virtual_world/host_graphs.cpp
  ${PROJECT_SOURCE_DIR}/virtual_world/host_kernels.cpp ${PROJECT_SOURCE_DIR}/virtual_world/host_messages.cpp
  ${PROJECT_SOURCE_DIR}/virtual_world/host_queue.cpp ${PROJECT_SOURCE_DIR}/src/collectives/combine.cpp
  ${PROJECT_SOURCE_DIR}/src/comm/reduction.cpp)
add_custom_command(OUTPUT ${MPI_TEST_HOST_DEVICE}/libcuda.so.1
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O1 -g1 -Wall -Wextra -ffp-contract=off -shared -fPIC -pthread
    -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
    ${sources} -Wl,-soname,libcuda.so.1 -o ${MPI_TEST_HOST_DEVICE}/libcuda.so.1
  DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/virtual_world/host_device.h ${PROJECT_SOURCE_DIR}/virtual_world/host_kernels.h ${PROJECT_SOURCE_DIR}/virtual_world/host_messages.h
    ${PROJECT_SOURCE_DIR}/virtual_world/host_graphs.h ${PROJECT_SOURCE_DIR}/virtual_world/host_queue.h VERBATIM)
add_custom_command(OUTPUT ${MPI_TEST_HOST_DEVICE}/libcrossrail_cuda.so
  COMMAND ${CMAKE_C_COMPILER} -O1 -g1 -Wall -Wextra -shared -fPIC -I${PROJECT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/host_device_module.c ${MPI_TEST_HOST_DEVICE}/libcuda.so.1 -Wl,-rpath,$ORIGIN
    -o ${MPI_TEST_HOST_DEVICE}/libcrossrail_cuda.so
  DEPENDS host_device_module.c ${MPI_TEST_HOST_DEVICE}/libcuda.so.1 VERBATIM)
mpi_test_target(host_device ${libraries})
mpi_test_program(device_ranks device_ranks.c CASES 0 BUILDS openmpi4 openmpi5 mpich4 mpich5)
# The trace must say when the device did its work.
foreach(mpi openmpi4 mpich4)
  mpi_trace_test(traced_devices ${mpi} device_ranks
    CROSSRAIL_LIBRARY_DIR=${MPI_TEST_HOST_DEVICE} HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1)
endforeach()
foreach(algorithm packet ipc_kernel_push ipc_kernel_pull hybrid)
  foreach(mpi openmpi4 mpich4)
    mpi_test(device_ranks_${algorithm} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE}
      --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set CROSSRAIL_ALLTOALL=${algorithm}
      --expect-carried MPI_Alltoall:20:${algorithm} device_ranks 7 200)
  endforeach()
endforeach()
mpi_test_program(device_rooted device_rooted.c CASES 0 BUILDS openmpi4 openmpi5 mpich4)
foreach(mpi openmpi4 openmpi5 mpich4)
  mpi_test(device_rooted ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_GUARD=0 --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_rooted)
  mpi_test(device_rooted_shared ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_GUARD=0 --set HOST_DEVICE_SHARED=1
    --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_rooted)
endforeach()
mpi_test_program(device_reset device_reset.c CASES 0 BUILDS openmpi4 mpich4)
foreach(mpi openmpi4 mpich4)
  foreach(how empty anew)
    mpi_test(device_reset_${how} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --expect-carried MPI_Alltoallv:4 device_reset ${how})
  endforeach()
endforeach()
# The only rank sends to itself.
foreach(mpi openmpi4 mpich4)
  mpi_test(device_ranks_alone ${mpi} 1 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_ranks 7 200)
endforeach()
foreach(mpi openmpi4 mpich4)
  mpi_test(device_ranks_pending ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE}
    --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --expect-carried MPI_Ialltoall:20 device_ranks 8 210 5000 pending)
endforeach()
# All ranks are on one device, so one of them launches for all.
foreach(mpi openmpi4 mpich4)
  foreach(algorithm ipc_kernel_push ipc_kernel_pull)
    mpi_test(device_ranks_shared_${algorithm} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE_SHARED=1
      --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set CROSSRAIL_ALLTOALL=${algorithm}
      --expect-carried MPI_Alltoall:20:${algorithm} device_ranks 7 200)
  endforeach()
  mpi_test(device_ranks_shared_pending ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE_SHARED=1
    --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --expect-carried MPI_Ialltoall:20 device_ranks 8 210 5000 pending)
endforeach()
# There are two nodes. Each rank's blocks for the other node go by messages, and those for its own go from device to
# device.
foreach(mpi openmpi4 mpich4)
  foreach(nodes 0,0,1,1 0,1,0,0)
    string(REPLACE "," "" name ${nodes})
    mpi_test(device_ranks_nodes_${name} ${mpi} 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_NODES=${nodes}
      --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set CROSSRAIL_ALLTOALL=pairwise
      --expect-carried MPI_Alltoall:60:pairwise device_ranks 9 60)
  endforeach()
endforeach()
mpi_test(device_ranks_nodes_pending openmpi4 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_NODES=0,0,1,1
  --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set CROSSRAIL_ALLTOALL=pairwise device_ranks 10 70 5000 pending)
# The MPI library cannot have a persistent call on memory of which it knows nothing, whatever the table says.
foreach(nodes 0,0,0,0 0,0,1,1 0,1,2,3)
  string(REPLACE "," "" name ${nodes})
  mpi_test(device_ranks_persistent_${name} openmpi4 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_NODES=${nodes}
    --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_ranks 11 60 5000 persistent driver_first)
endforeach()
# It cannot either where the table has nothing for the ranks, for instance for one alone. Then it has copies.
mpi_test(device_ranks_persistent_alone openmpi4 1 ARGS --libraries ${MPI_TEST_HOST_DEVICE}
  --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set CROSSRAIL_ALLTOALL=node_shared device_ranks 12 60 5000 persistent driver_first)
# Where crossrail may not carry any call, the MPI library has copies.
foreach(case slots few_bytes)
  set(setting CROSSRAIL_SLOTS=0)
  if(case STREQUAL few_bytes)
    set(setting CROSSRAIL_SCRATCH=4K)
  endif()
  foreach(mpi openmpi4 openmpi5 mpich5)
    mpi_test(device_ranks_persistent_${case} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set ${setting}
      --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_ranks 13 60 5000 persistent driver_first)
  endforeach()
endforeach()
mpi_test_program(copies_apart copies_apart.c CASES 0 BUILDS openmpi4 openmpi5 mpich5)
foreach(mpi openmpi4 openmpi5 mpich5)
  mpi_test(copies_apart ${mpi} 2 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 copies_apart)
endforeach()
mpi_test_program(device_gaps device_gaps.c CASES args BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(after 0 200)
    mpi_test(device_gaps_${after} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --set CROSSRAIL_OPEN_AFTER=${after} device_gaps)
  endforeach()
  mpi_test(device_gaps_threads ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 device_gaps 20 threads)
endforeach()
foreach(mpi openmpi4 mpich4)
  mpi_test(device_gaps_native ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set CROSSRAIL_ALLTOALL=native --set CROSSRAIL_ALLTOALLV=native --set CROSSRAIL_ALLGATHER=native device_gaps)
endforeach()
mpi_test_program(finalize_at_exit finalize_at_exit.c BUILDS openmpi4 openmpi5 mpich4)
foreach(mpi openmpi4 openmpi5 mpich4)  # PyPI's MPICH 5 kills such jobs at times
  mpi_test(finalize_at_exit ${mpi} 3 ARGS finalize_at_exit)
  mpi_test(finalize_at_exit_devices ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 finalize_at_exit)
endforeach()
mpi_test_program(device_streams device_streams.c CASES 0 BUILDS openmpi4 mpich4 FLAGS -I${PROJECT_SOURCE_DIR}/include)
foreach(mpi openmpi4 mpich4)
  foreach(algorithm "" packet ipc_kernel_push ipc_copy_pull)
    set(name device_streams)
    if(algorithm)
      set(name device_streams_${algorithm})
    endif()
    mpi_test(${name} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --set CROSSRAIL_ALLTOALL=${algorithm} device_streams 8)
  endforeach()
endforeach()
# These are left to an MPI library that knows nothing of devices.
mpi_test_program(device_vectors device_vectors.c CASES 0 BUILDS openmpi4 openmpi5 mpich4)
foreach(mpi openmpi4 openmpi5 mpich4)
  foreach(alltoallv native "")
    set(name device_vectors)
    set(carried --expect-carried MPI_Alltoallv:8:ipc_push --expect-carried MPI_Alltoallw:8:ipc_push)
    set(memory scattered)
    if(alltoallv)
      set(name device_vectors_${alltoallv})
      set(carried "")
      set(memory "")
    endif()
    mpi_test(${name} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --set CROSSRAIL_ALLTOALLV=${alltoallv} --set CROSSRAIL_ALLTOALL=${alltoallv} ${carried} device_vectors 8 ${memory})
  endforeach()
  # crossrail is switched off, so all calls run on copies.
  mpi_test(device_vectors_off ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set CROSSRAIL=0 --expect-carried MPI_Alltoallv:16:native --expect-carried MPI_Alltoallw:16:native device_vectors 8)
endforeach()
mpi_test_program(copies_far copies_far.c BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  set(forms 3)
  if(mpi STREQUAL mpich4)
    set(forms 2)
  endif()
  mpi_test(copies_far ${mpi} 1 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set HOST_DEVICE_AT=0x200000000000 --set CROSSRAIL=0 --expect-text "too many for a copy" copies_far ${forms})
endforeach()
# There are gaps on both sides. Data move from where the blocks lie to where they belong; from rows where one launches for all; in rounds
# where runs are short.
mpi_test_program(device_straight device_straight.c CASES 0 BUILDS openmpi4 mpich4)
foreach(mpi openmpi4 mpich4)
  foreach(setting CROSSRAIL_DEVICES=1 HOST_DEVICE_SHARED=1 CROSSRAIL_DEVICE_SCRATCH=4K CROSSRAIL_DEVICE_STAGED_USES=0)
    string(REGEX REPLACE "[^0-9A-Za-z]+" "_" name "device_straight_${setting}")
    string(TOLOWER ${name} name)
    mpi_test(${name} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --set "${setting}" --expect-carried MPI_Alltoallw:60:ipc_push device_straight 180)
  endforeach()
endforeach()
# On several nodes, blocks for the node's own ranks go from device to device and the others go by messages. All ranks are on
# one device.
foreach(mpi openmpi4 mpich4)
  mpi_test(device_vectors_shared ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set HOST_DEVICE_SHARED=1 --expect-carried MPI_Alltoallv:8:ipc_push --expect-carried MPI_Alltoallw:8:ipc_push device_vectors 8 scattered)
  mpi_test(device_vectors_nodes ${mpi} 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_ALLTOALLV=pairwise --expect-carried MPI_Alltoallv:8:pairwise device_vectors 8)
endforeach()
# Several processes share a device, and one of them has the buffers. Devices and nodes have equal or different numbers of processes, or one
# process a device.
mpi_test_program(shared_devices shared_devices.c CASES 0 BUILDS openmpi4 mpich4 FLAGS -I${PROJECT_SOURCE_DIR}/include)
function(shared_devices_test name mpi nodes keys)
  string(REPLACE "," ";" ranks ${keys})
  list(LENGTH ranks ranks)
  mpi_test(shared_devices_${name} ${mpi} ${ranks} ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
    --set CROSSRAIL_NODES=${nodes} --set CROSSRAIL_SHARED_PART=16K ${ARGN})
endfunction()
foreach(mpi openmpi4 mpich4)
  foreach(lanes 0 1)
    set(form --set CROSSRAIL_SHARED_LANES=${lanes} shared_devices 3${lanes} 25)
    shared_devices_test(one_node_${lanes} ${mpi} 0,0,0,0 0,0,1,1 ${form} 0,0,1,1)
    shared_devices_test(two_nodes_${lanes} ${mpi} 0,0,1,1 5,5,5,5 --expect-text "in host memory, which other processes cannot open" ${form} 5,5,5,5)
    shared_devices_test(three_nodes_${lanes} ${mpi} 0,0,1,1,2,2 0,0,0,0,0,0 ${form} 0,0,0,0,0,0)
    shared_devices_test(uneven_${lanes} ${mpi} 0,1,0,1,0,1 0,0,0,0,1,0 ${form} 0,0,0,0,1,0)
  endforeach()
  shared_devices_test(of_one_process ${mpi} 0,0,1 0,1,0 shared_devices 4 25 0,1,0)
  shared_devices_test(of_two_nodes ${mpi} 0,1 0,0 shared_devices 10 25 0,0)
  shared_devices_test(of_two_devices ${mpi} 0,0 0,1 shared_devices 11 25 0,1)
  shared_devices_test(without_segment ${mpi} 0,0,1 0,0,0 --set CROSSRAIL_SEGMENT=none --expect-text "share no memory" shared_devices 1 1 0 refused)
  shared_devices_test(without_devices ${mpi} 0,0,1 0,0,0 --set CROSSRAIL_DEVICES=0 --expect-text "share no memory" shared_devices 1 1 0 refused)
  shared_devices_test(switched_off ${mpi} 0,0 0,0 --set CROSSRAIL=0 --expect-text "does not carry" shared_devices 1 1 0 refused)
  shared_devices_test(one_device ${mpi} 0,0,0 0,0,0 shared_devices 5 25 0,0,0)
  shared_devices_test(alone ${mpi} 0 0 shared_devices 6 25 0)
  shared_devices_test(opened ${mpi} 0,0,0,0,1,1 0,1,0,1,0,0 shared_devices 7 25 0,1,0,1,0,0 open)
  shared_devices_test(each_launches ${mpi} 0,0,0,0,1,1 0,1,0,1,0,0 --set CROSSRAIL_ONE_LAUNCHER=0 shared_devices 8 25 0,1,0,1,0,0 open)
  shared_devices_test(not_exported ${mpi} 0,0,0,0,1,1 0,1,0,1,0,0 shared_devices 9 25 0,1,0,1,0,0 unshareable)
endforeach()
# This bench of shared devices compares its results.
foreach(mpi openmpi mpich)
  if(TARGET shared_devices_${mpi})
    mpi_test(shared_devices_bench ${mpi}4 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set CROSSRAIL_NODES=0,0,1,1 --no-pass
      $<TARGET_FILE:shared_devices_${mpi}> --per-gpu 2 --processes 1,2 --bytes 4K,200K --calls 3 --driver ${MPI_TEST_HOST_DEVICE}/libcuda.so.1)
  endif()
endforeach()
# This is the program of the documentation page, on such devices.
set(page ${PROJECT_SOURCE_DIR}/docs/several_processes.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
file(READ ${page} text)
string(REGEX REPLACE "^.*\n```c\n" "" text "${text}")
string(REGEX REPLACE "\n```\n.*$" "\n" text "${text}")
file(CONFIGURE OUTPUT program_of_page.h CONTENT "${text}" @ONLY)
mpi_test_program(shared_device_example shared_device_example.c BUILDS openmpi4 mpich4
  FLAGS -Werror -I${PROJECT_SOURCE_DIR}/include -I${CMAKE_CURRENT_BINARY_DIR} -I${CMAKE_CURRENT_SOURCE_DIR}/pretended_cuda)
foreach(mpi openmpi4 mpich4)
  foreach(nodes 0,0,0,0 0,0,1,1)
    string(REPLACE "," "" name ${nodes})
    mpi_test(shared_device_example_${name} ${mpi} 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
      --set CROSSRAIL_NODES=${nodes} --no-pass --expect-text "all sums are right" shared_device_example 2)
  endforeach()
endforeach()
# Processes whose device memory is in use start children.
mpi_test_program(device_children device_children.c CASES 0 BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(setting CROSSRAIL_DEVICES=1 HOST_DEVICE_SHARED=1 CROSSRAIL_DEVICE_STAGED_USES=0)
    string(REGEX REPLACE "[^0-9A-Za-z]+" "_" name "device_children_${setting}")
    string(TOLOWER ${name} name)
    mpi_test(${name} ${mpi} 3 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1 --set ${setting}
      --clean-shm --expect-carried MPI_Alltoall:10 --expect-carried MPI_Ialltoall:50 --expect-carried MPI_Iallreduce:50 device_children)
  endforeach()
endforeach()
mpi_test(device_children_nodes openmpi4 4 ARGS --libraries ${MPI_TEST_HOST_DEVICE} --set HOST_DEVICE=${MPI_TEST_HOST_DEVICE}/libcuda.so.1
  --set CROSSRAIL_NODES=0,0,1,1 --expect-carried MPI_Alltoall:10 device_children)
