# These are the tests on device memory: programs, and the tests that run them. The programs can be carried to another
# machine and run there by run_gpu_tests.sh, so keep its list like the one here.

# They are position-independent: they have no copies of Open MPI's objects, whose sizes differ between its versions.
foreach(program alltoall allreduce gatherings rooted algorithms kinds reuse types vectors pending on_stream streams killed mps_killed pid_spaces waits owners contexts)
  add_executable(device_${program} device_${program}.cpp)
  set_target_properties(device_${program} PROPERTIES EXCLUDE_FROM_ALL ${left_out})
  target_include_directories(device_${program} SYSTEM PRIVATE ${CROSSRAIL_CUDA_INCLUDE} ${CROSSRAIL_OPENMPI_INCLUDE})
  target_include_directories(device_${program} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(device_${program} PRIVATE OMPI_SKIP_MPICXX)
  target_compile_options(device_${program} PRIVATE -fPIC)
  target_link_libraries(device_${program} PRIVATE crossrail_options ${CROSSRAIL_CUDART} ${CROSSRAIL_OPENMPI_LIBRARY}
    Threads::Threads ${CMAKE_DL_LIBS} rt)
endforeach()

# This defines gpu_test(name program [LAUNCH argument of mpirun...] [BEFORE word before the program...] [ARGS
# argument...])
function(gpu_test name program)
  cmake_parse_arguments(ARG "" "" "LAUNCH;BEFORE;ARGS" ${ARGN})
  foreach(ranks 2 4)
    set(test modules.${name}.${ranks})
    add_test(NAME ${test}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/where_a_gpu_is.sh mpirun --allow-run-as-root --oversubscribe ${ARG_LAUNCH} -n ${ranks}
        -x LD_PRELOAD=$<TARGET_FILE:crossrail_mpi_openmpi> ${ARG_BEFORE} $<TARGET_FILE:${program}> ${ARG_ARGS})
    set_tests_properties(${test} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 120 RUN_SERIAL TRUE)
  endforeach()
endfunction()

foreach(program alltoall allreduce gatherings rooted algorithms kinds reuse types vectors pending on_stream waits)
  gpu_test(device_${program} device_${program})
endforeach()
gpu_test(device_allreduce_packets device_allreduce LAUNCH -x CROSSRAIL_ALLREDUCE=ll_one_shot)
gpu_test(device_on_stream_packets device_on_stream LAUNCH -x CROSSRAIL_ALLTOALL=hybrid -x CROSSRAIL_ALLREDUCE=ll_one_shot)
gpu_test(device_on_stream_ll128 device_on_stream LAUNCH -x CROSSRAIL_ALLTOALL=ll128 -x CROSSRAIL_ALLREDUCE=ll128_one_shot)
gpu_test(device_allreduce_ll128 device_allreduce LAUNCH -x CROSSRAIL_ALLREDUCE=ll128_one_shot)
foreach(program alltoall allreduce gatherings rooted kinds reuse pending waits vectors)
  gpu_test(device_nodes_${program} device_${program} BEFORE ${CMAKE_CURRENT_SOURCE_DIR}/two_nodes.sh)
endforeach()
foreach(mode busy threads visible rotated split)
  gpu_test(device_streams_${mode} device_streams ARGS ${mode})
endforeach()
foreach(mode free arena chunks many copies native growth)
  gpu_test(device_owners_${mode} device_owners ARGS ${mode})
endforeach()
foreach(mode own reset finalize gone)
  gpu_test(device_contexts_${mode} device_contexts ARGS ${mode})
endforeach()
gpu_test(device_full device_killed ARGS full)
# Open MPI's own shared memory (vader) crashes where all process ids are 1.
gpu_test(device_pid_spaces device_pid_spaces BEFORE ${CMAKE_CURRENT_SOURCE_DIR}/pid_space.sh
  LAUNCH --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo)

# A rank is killed. Open MPI 4 can be told to leave the others alone. Each of them must say that all is right, because
# mpirun's own exit status says nothing then.
execute_process(COMMAND mpirun --version OUTPUT_VARIABLE mpirun_version ERROR_QUIET RESULT_VARIABLE ignored)
if(mpirun_version MATCHES "\\(Open MPI\\) 4\\.")
  foreach(algorithm auto packet ll128 ipc_kernel_push ipc_kernel_pull ipc_copy_push ipc_copy_pull hybrid)
    foreach(case before middle)
      set(name device_killed_${case}_${algorithm})
      gpu_test(${name} device_killed ARGS ${case} ${algorithm} LAUNCH --mca orte_enable_recovery 1)
      set(one "survivor: right")
      set_tests_properties(modules.${name}.2 PROPERTIES PASS_REGULAR_EXPRESSION "${one}")
      set_tests_properties(modules.${name}.4 PROPERTIES PASS_REGULAR_EXPRESSION "${one}.*${one}.*${one}")
      set_tests_properties(modules.${name}.2 modules.${name}.4 PROPERTIES
        SKIP_REGULAR_EXPRESSION "skipped: no GPU" FAIL_REGULAR_EXPRESSION "WRONG")
    endforeach()
  endforeach()
endif()

# The MPS server, or the daemon that has started it, is killed. The driver starts a daemon of its own and bounds its own time.
# mps_test(name kill mode [LAUNCH word of mpirun...])
function(mps_test name kill mode)
  cmake_parse_arguments(ARG "" "" "LAUNCH" ${ARGN})
  list(JOIN ARG_LAUNCH " " launch)
  foreach(ranks 2 4)
    set(test modules.${name}.${ranks})
    add_test(NAME ${test}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/where_a_gpu_is.sh ${mps_python} ${CMAKE_CURRENT_SOURCE_DIR}/mps_killed.py
        $<TARGET_FILE:crossrail_mpi_openmpi> $<TARGET_FILE:device_mps_killed> --ranks ${ranks} --kill ${kill} --mode ${mode} "--launch=${launch}")
    set_tests_properties(${test} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 240 RUN_SERIAL TRUE)
  endforeach()
endfunction()

crossrail_find_python(mps_python "argparse")
if(mps_python)
  foreach(kill control server both)
    mps_test(device_mps_killed_abort_${kill} ${kill} abort)
    mps_test(device_mps_killed_finalize_${kill} ${kill} finalize)
    # These leave a rank that ends without the others.
    if(mpirun_version MATCHES "\\(Open MPI\\) 4\\.")
      mps_test(device_mps_killed_return_${kill} ${kill} return)
      mps_test(device_mps_killed_pending_${kill} ${kill} pending)
      mps_test(device_mps_killed_each_${kill} ${kill} return LAUNCH -x CROSSRAIL_ONE_LAUNCHER=0)
    endif()
  endforeach()
  foreach(kill server both)
    mps_test(device_mps_probe_${kill} ${kill} probe)
  endforeach()
endif()
