# These must not break: wrong counts and arguments, killed ranks, small or missing /dev/shm, forbidden system calls,
# pending messages, reused buffers, late ranks, thousands of communicators.
foreach(program killed_rank forbid_process_vm spawned fault_tolerant report_kept)
  mpi_test_program(${program} ${program}.c)
endforeach()
foreach(program disagreement disagreement_vector bad_arguments bad_vectors pending_send reuse late_ranks many_communicators refused_reductions
    disagreement_reduction late_then_free error_behind written_after_error error_strings freed_after_error short_lived first_calls
    calls_in_delete_functions)
  mpi_test_program(${program} ${program}.c CASES 0)
endforeach()
mpi_test_program(float_environment float_environment.c CASES 0 FLAGS -Wl,--no-as-needed -lm)
# The program has its own ways with floating-point numbers, and with attributes.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(after 0 200)
    mpi_test(float_environment_${after} ${mpi} 2 ARGS --set CROSSRAIL_OPEN_AFTER=${after} float_environment)
    mpi_test(calls_in_delete_functions_${after} ${mpi} 3 ARGS --set CROSSRAIL_OPEN_AFTER=${after} calls_in_delete_functions)
    mpi_test(calls_in_delete_functions_late_${after} ${mpi} 3 ARGS --set CROSSRAIL_OPEN_AFTER=${after} calls_in_delete_functions late)
  endforeach()
endforeach()
mpi_test_program(allocations allocations.c FLAGS -rdynamic)

# Counts disagree. An error comes soon, and then MPI still works; by default the job ends.
foreach(case small small_warm zero middle large small_large own_sides)
  mpi_test(disagreement_${case} openmpi4 3 SECONDS 80 ARGS --expect-text "crossrail.*MPI_Alltoall: " disagreement ${case})
endforeach()
# Calls that move nothing open the world alone.
mpi_test(disagreement_zero_others openmpi4 3 ALONE SECONDS 80 ARGS --expect-text "crossrail.*MPI_Alltoall: " disagreement zero_others)
foreach(mpi openmpi5 mpich4 mpich5_abi intel)
  mpi_test(disagreement_small_warm ${mpi} 3 SECONDS 80 ARGS --expect-text "crossrail.*rank 1" disagreement small_warm)
endforeach()
foreach(algorithm linear pairwise bruck)
  mpi_test(disagreement_${algorithm} openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALL=${algorithm}
    disagreement small_warm)
  mpi_test(disagreement_nodes_${algorithm} openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALL=${algorithm}
    --set CROSSRAIL_NODES=0,0,1,1 disagreement small_warm)
endforeach()
# Other ranks are in the MPI library with the call. They get its errors or none, and nobody waits for ever.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(disagreement_with_native ${mpi} 4 SECONDS 40 ARGS --set CROSSRAIL_NODES=0,0,1,1 --expect-text "others are in the MPI library"
    --exit nonzero --no-pass disagreement small_large fatal)
endforeach()
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
  mpi_test(disagreement_fatal ${mpi} 2 SECONDS 80 ARGS --exit nonzero --no-pass --forbid-text SURVIVED
    --expect-carried MPI_Alltoall:50 --expect-errors MPI_Alltoall:1 disagreement small_warm fatal)
endforeach()

# This tests what MPI_Error_string says. MPICH 4.0 mistakes strings of codes under its own classes.
foreach(mpi openmpi4 openmpi5 mpich5)
  mpi_test(error_strings ${mpi} 3 SECONDS 120 ARGS --set CROSSRAIL_PATIENCE=20 error_strings ours pending)
endforeach()
# With one thread, no call is pending there.
mpi_test(error_strings mpich5_abi 3 SECONDS 120 ARGS --set CROSSRAIL_PATIENCE=20 error_strings ours)
mpi_test(error_strings mpich4 3 SECONDS 120 ARGS --set CROSSRAIL_PATIENCE=20 error_strings by_version pending)

# Communicators are freed after errors.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(nodes 0,0,0 0,0,1 0,1,2)
    string(REPLACE "," "" name ${nodes})
    mpi_test(freed_after_error_${name} ${mpi} 3 SECONDS 80 ARGS --set CROSSRAIL_PATIENCE=50 --set CROSSRAIL_NODES=${nodes} freed_after_error)
  endforeach()
endforeach()

# Elements and operations of reductions may disagree, too.
foreach(case count operation type collective)
  foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
    # Where the bytes are the same, the message must not say that they differ.
    set(said "crossrail.*MPI_All[a-z]*: ")
    if(case MATCHES "operation|type")
      set(said "crossrail.*MPI_Allreduce: call [0-9]+: rank [0-9] and rank [0-9] have blocks of 4000 bytes, but other collectives, operations or types")
    endif()
    mpi_test(disagreement_reduction_${case} ${mpi} 3 SECONDS 80 ARGS --expect-text "${said}" disagreement_reduction ${case})
  endforeach()
  foreach(algorithm recursive_doubling rabenseifner ring multi_lane)
    mpi_test(disagreement_reduction_${case}_${algorithm} openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_ALLREDUCE=${algorithm}
      --set CROSSRAIL_NODES=0,0,1,1 disagreement_reduction ${case})
  endforeach()
endforeach()
# MPICH 5 as PyPI has it looks at no arguments, and crashes.
foreach(mpi openmpi4 openmpi5 mpich4)
  mpi_test(refused_reductions ${mpi} 2 SECONDS 80 ARGS --same-as-native refused_reductions)
endforeach()

# This is the same between two ranks of MPI_Alltoallv and MPI_Alltoallw.
foreach(algorithm IN LISTS MPI_TEST_VECTOR_ALGORITHMS)
  foreach(case longer large own_sides types)
    mpi_test(disagreement_vector_${case}_${algorithm} openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm}
      --expect-text "crossrail.*MPI_Alltoall[vw]: " disagreement_vector ${case})
  endforeach()
  foreach(mpi openmpi5 mpich4 mpich5_abi intel)
    mpi_test(disagreement_vector_${algorithm} ${mpi} 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm}
      disagreement_vector longer)
  endforeach()
endforeach()
# A receiver expects more than is sent, which an MPI library lets pass. The test uses every row and all forms of the call, in rows of bytes and with
# gaps.
mpi_test_program(shorter_blocks shorter_blocks.c CASES 3 FLAGS -I${CMAKE_CURRENT_SOURCE_DIR}/../nonblocking)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 mpich5_abi intel)
  mpi_test(shorter_blocks ${mpi} 3 SECONDS 80 ARGS --expect-carried MPI_Alltoallv:20 shorter_blocks 100)
endforeach()
foreach(algorithm IN LISTS MPI_TEST_VECTOR_NODES_ALGORITHMS)
  foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
    mpi_test(shorter_blocks_nodes_${algorithm} ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_ALLTOALLV=${algorithm}
      --expect-carried MPI_Alltoallv:20:${algorithm} shorter_blocks 100)
  endforeach()
endforeach()
mpi_test(shorter_blocks_pieces openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1,1 --set "CROSSRAIL_ALLTOALLV=pairwise piece=64K"
  --expect-carried MPI_Alltoallv:20:pairwise shorter_blocks 60 400000)
mpi_test(shorter_blocks_leaders openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,1,0,1 --set "CROSSRAIL_ALLTOALLV=leader_pipelined leaders=2 split=100"
  --expect-carried MPI_Alltoallv:20:leader_pipelined shorter_blocks 100)
foreach(case shorter missing missing_alone large_shorter)
  foreach(mpi openmpi4 openmpi5 mpich4 mpich5 mpich5_abi intel)
    mpi_test(disagreement_vector_${case}_taken ${mpi} 3 SECONDS 80 ARGS --expect-carried MPI_Alltoallv:5
      disagreement_vector ${case} taken)
  endforeach()
endforeach()
# A message that is missing altogether is an error, or is waited for for ever.
foreach(algorithm IN LISTS MPI_TEST_VECTOR_NODES_ALGORITHMS)
  mpi_test(disagreement_vector_shorter_${algorithm} openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm} --set CROSSRAIL_NODES=0,1,0
    disagreement_vector shorter taken)
  mpi_test(disagreement_vector_large_shorter_${algorithm} openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm} --set CROSSRAIL_NODES=0,1,0
    disagreement_vector large_shorter taken)
endforeach()
foreach(algorithm IN LISTS MPI_TEST_VECTOR_NODES_ALGORITHMS)
  mpi_test(disagreement_vector_nodes_${algorithm} openmpi4 4 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm}
    --set CROSSRAIL_NODES=0,1,0,1 disagreement_vector longer once)
endforeach()
mpi_test(disagreement_vector_fatal openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=pairwise --exit nonzero --no-pass
  --forbid-text SURVIVED disagreement_vector own_sides fatal)

# Processes that the program spawns may not have crossrail. Debian's MPICH 4 cannot spawn.
foreach(mpi openmpi4 openmpi5 mpich5)
  # Debian 13's Open MPI 5.0.7 does not reach them on every machine.
  set(needs "true")
  if(mpi STREQUAL openmpi4 AND NOT MPI_TEST_openmpi4_MAJOR EQUAL 4)
    set(needs "timeout 30 ${MPI_TEST_openmpi4_MPIRUN} -n 2 ${MPI_TEST_PROGRAMS}/openmpi4/spawned without")
  endif()
  foreach(case with without)
    mpi_test(spawned_${case} ${mpi} 2 SECONDS 80 ARGS --needs "${needs}" --expect-carried MPI_Alltoall:60 --expect-native MPI_Alltoall:30
      --expect-native MPI_Ialltoall:30 spawned ${case})
  endforeach()
endforeach()

# These programs survive failures.
foreach(nodes 0,0,0,0 0,0,1,1)
  string(REPLACE "," "" name ${nodes})
  mpi_test(fault_tolerant_revoked_${name} openmpi5 4 SECONDS 80 ARGS --launch=--with-ft --launch=ulfm --set CROSSRAIL_NODES=${nodes}
    fault_tolerant revoked)
  mpi_test(fault_tolerant_killed_${name} openmpi5 4 SECONDS 80 ARGS --launch=--with-ft --launch=ulfm --set CROSSRAIL_NODES=${nodes}
    --exit any --passes 3 fault_tolerant killed)
endforeach()

# Ranks are ahead of an error, and nothing is written once a call has returned with one.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(case alltoall in_place further more)
    mpi_test(error_behind_${case} ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=node_shared error_behind ${case})
  endforeach()
  foreach(algorithm IN LISTS MPI_TEST_VECTOR_NODES_ALGORITHMS)
    foreach(case further more)
      # Ranks believe that a sender has gone on after 20 times the patience. One test waits for the default of 500 ms.
      set(patience --set CROSSRAIL_PATIENCE=100)
      if(case STREQUAL further OR (mpi STREQUAL openmpi4 AND algorithm STREQUAL pairwise))
        set(patience)
      endif()
      mpi_test(error_behind_nodes_${case}_${algorithm} ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1,1 ${patience}
        --set CROSSRAIL_ALLTOALLV=${algorithm} error_behind ${case})
    endforeach()
  endforeach()
  mpi_test(written_after_error ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,0,1,1
    --set CROSSRAIL_ALLTOALLV=leader_pipelined --expect-text "crossrail.*MPI_Alltoallv: " written_after_error)
endforeach()

# The two who disagree are on different nodes.
foreach(case alltoall in_place further more)
  foreach(mpi openmpi4 mpich5)
    mpi_test(error_behind_apart_${case} ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_NODES=0,1,0,1 --set CROSSRAIL_PATIENCE=100
      --set CROSSRAIL_ALLTOALLV=pairwise error_behind ${case})
  endforeach()
endforeach()

# A rank that has waited long has told others, on crossrail's own communicator. Freeing it is no error.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 mpich5_abi)
  mpi_test(late_then_free ${mpi} 4 ARGS --set CROSSRAIL_NODES=0,0,1,2 --set CROSSRAIL_PATIENCE=100
    --expect-carried MPI_Alltoall:12 late_then_free)
  # Private communicators come back, whatever was asked on them.
  mpi_test(late_then_free_often ${mpi} 4 ARGS --set CROSSRAIL_NODES=0,0,1,2 --set CROSSRAIL_PATIENCE=10
    --set CROSSRAIL_PRIVATE_COMMUNICATORS=8 --expect-carried MPI_Alltoall:180 late_then_free 60 12000)
endforeach()

# MPI_ERRORS_RETURN has another value in Intel's mpi_abi.h than in MPICH's, so only a handler is tested there.
foreach(mpi IN LISTS MPI_TEST_MPIS)
  foreach(how return handler)
    if(NOT (mpi STREQUAL intel_abi AND how STREQUAL return))
      mpi_test(bad_arguments_${how} ${mpi} 2 SECONDS 80 ARGS --same-as-native bad_arguments ${how})
      mpi_test(bad_vectors_${how} ${mpi} 2 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALLV=pairwise --same-as-native
        bad_vectors ${how})
    endif()
  endforeach()
endforeach()

# A rank is killed. Most launchers end the whole job themselves; Open MPI 4.1 can be told not to, Open MPI 5 cannot.
set(survived node_shared node_single_copy)
if(NOT MPI_TEST_openmpi4_MAJOR EQUAL 4)
  set(survived "")
endif()
foreach(case before inside)
  foreach(algorithm IN LISTS survived)
    mpi_test(killed_${case}_${algorithm} openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_ALLTOALL=${algorithm}
      --launch=--mca --launch=orte_enable_recovery --launch=1 --exit any --no-pass --clean-shm
      --expect-text "rank 0: survivor: code [1-9]" --expect-text "rank 2: survivor: code [1-9]"
      --expect-text "crossrail.*rank 1 has ended" --expect-text "rank [02]: survivor: code .*: crossrail: .*rank 1 has ended" killed_rank ${case})
  endforeach()
  foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
    mpi_test(killed_${case} ${mpi} 3 SECONDS 80 ARGS --exit nonzero --no-pass --clean-shm killed_rank ${case})
  endforeach()
endforeach()
mpi_test(killed_shm openmpi4 3 SECONDS 80 ARGS --set CROSSRAIL_SEGMENT=shm --exit nonzero --no-pass --clean-shm
  killed_rank before)

# /dev/shm has 64 MB, or is read-only. MPICH itself needs a writable one.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
  foreach(segment shm memfd)
    mpi_test(shm_64m_${segment} ${mpi} 4 ARGS --shm 64m --set CROSSRAIL_SEGMENT=${segment}
      --expect-carried MPI_Alltoall:40 differential 51 120)
  endforeach()
endforeach()
foreach(mpi openmpi4 openmpi5 intel)
  mpi_test(shm_readonly_shm ${mpi} 4 ARGS --shm readonly --set CROSSRAIL_SEGMENT=shm differential 52 120)
  mpi_test(shm_readonly_both ${mpi} 4 ARGS --shm readonly --set CROSSRAIL_SEGMENT=shm,memfd
    --expect-carried MPI_Alltoall:40:node_shared differential 52 120)
endforeach()
mpi_test(shm_full openmpi4 4 ARGS --shm 64m --set CROSSRAIL_SEGMENT=shm many_communicators 100 100)
mpi_test(shm_full mpich4 2 ARGS --shm 64m --set CROSSRAIL_SEGMENT=shm many_communicators 100 100)

# The kernel or a setting forbids process_vm_readv. MPICH 5 needs telling that it may not use it.
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
  mpi_test(forbidden_single_copy ${mpi} 4 ARGS --wrap forbid_process_vm
    --set MPIR_CVAR_CH4_CMA_ENABLE=0 --set CROSSRAIL_LOG=1
    --expect-text "single copy not allowed" --forbid-text "single copy allowed"
    --expect-carried MPI_Alltoall:40:node_shared differential 53 120)
endforeach()
mpi_test_program(reading_refused reading_refused.c FLAGS -rdynamic)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  foreach(whom all one now_and_then)
    mpi_test(reading_refused_${whom} ${mpi} 4 ARGS --set CROSSRAIL_GUARD=0 --expect-carried MPI_Alltoall:12:node_single_copy --expect-carried MPI_Allreduce:12:node_single_copy
      reading_refused ${whom})
  endforeach()
endforeach()
mpi_test(no_single_copy openmpi4 4 ARGS --set CROSSRAIL_SINGLE_COPY=0 --set CROSSRAIL_LOG=1
  --forbid-text "single copy allowed" --expect-carried MPI_Alltoall:40:node_shared differential 53 120)

# Communicators that see few calls share nothing, and requests take over what others have left.
foreach(mpi IN LISTS MPI_TEST_MPIS)
  mpi_test(short_lived ${mpi} 3 ARGS --set CROSSRAIL_OPEN_AFTER=100000000 --expect-native MPI_Alltoall:3000 short_lived 20)
  mpi_test(short_lived_at_once ${mpi} 3 ARGS --expect-carried MPI_Alltoall:3000 short_lived 20)
  mpi_test(short_lived_long ${mpi} 3 ARGS --set CROSSRAIL_OPEN_AFTER=100000000 --expect-carried MPI_Alltoall:500 short_lived 4 100000)
  mpi_test(short_lived_nodes ${mpi} 4 ARGS --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_OPEN_AFTER=1 short_lived 20 2000)
endforeach()

foreach(mpi IN LISTS MPI_TEST_MPIS)
  foreach(after 0 200)
    if(NOT mpi MATCHES "mpich5")  # PyPI's does not look at arguments
      mpi_test(first_calls_repeated_${after} ${mpi} 3 ARGS --set CROSSRAIL_OPEN_AFTER=${after} first_calls repeated)
    endif()
    mpi_test(first_calls_ahead_${after} ${mpi} 2 ARGS --set CROSSRAIL_OPEN_AFTER=${after} first_calls ahead)
    mpi_test(first_calls_freed_${after} ${mpi} 2 ARGS --set CROSSRAIL_OPEN_AFTER=${after} first_calls freed)
  endforeach()
endforeach()

foreach(mpi IN LISTS MPI_TEST_MPIS)
  mpi_test(pending_send ${mpi} 2 ARGS --expect-carried MPI_Alltoall:20 pending_send)
  mpi_test(reuse_small ${mpi} 4 ARGS --set CROSSRAIL_GUARD=0 --expect-carried MPI_Alltoall:10000 reuse 10000 1)
  mpi_test(reuse_both_ways ${mpi} 4 ARGS --set CROSSRAIL_GUARD=1 --expect-native MPI_Alltoall:2 reuse 3000 1)
endforeach()
foreach(algorithm linear pairwise bruck node_shared node_single_copy)
  mpi_test(pending_send_${algorithm} openmpi4 3 ARGS --set CROSSRAIL_ALLTOALL=${algorithm}
    --expect-carried MPI_Alltoall:20:${algorithm} pending_send)
  mpi_test(reuse_${algorithm} openmpi4 4 ARGS --set CROSSRAIL_ALLTOALL=${algorithm}
    --expect-carried MPI_Alltoall:2000:${algorithm} reuse 2000 500)
endforeach()
mpi_test(reuse_large openmpi4 4 ARGS --set CROSSRAIL_GUARD=0 --expect-carried MPI_Alltoall:200 reuse 200 30000)
mpi_test_program(late_receiver late_receiver.c BUILDS openmpi4 mpich4)
foreach(mpi openmpi4 mpich4)
  foreach(algorithm pairwise scatter_destination)
    mpi_test(late_receiver_${algorithm} ${mpi} 4 ARGS --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_ALLTOALLV=${algorithm}
      --expect-carried MPI_Alltoallv:8000:${algorithm} late_receiver ${CMAKE_CURRENT_BINARY_DIR}/late_receiver_${algorithm}_${mpi})
  endforeach()
endforeach()
foreach(mpi openmpi4 openmpi5 mpich4 mpich5 intel)
  mpi_test(late_ranks ${mpi} 4 ALONE ARGS --expect-carried MPI_Alltoall:30 late_ranks 30)
endforeach()

foreach(mpi IN LISTS MPI_TEST_MPIS)
  mpi_test(many_communicators ${mpi} 2 SECONDS 300 ARGS --clean-shm --expect-carried MPI_Alltoall:1000
    many_communicators 300 2500)
endforeach()
# The communicators span several nodes. All are on the private communicator of the first one, also after its tags have been used up
# (MPICH's are enough for 8000).
foreach(mpi openmpi5 mpich5)
  mpi_test(many_communicators_nodes ${mpi} 4 ARGS --clean-shm --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_PRIVATE_COMMUNICATORS=1
    --expect-carried MPI_Alltoall:1000 many_communicators 300 1000)
endforeach()
mpi_test(many_communicators_nodes openmpi4 4 ARGS --clean-shm --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_PRIVATE_COMMUNICATORS=1
  --expect-carried MPI_Alltoall:5000 many_communicators 300 8000 500)
mpi_test(many_communicators_nodes mpich4 4 SECONDS 300 ARGS --clean-shm --set CROSSRAIL_NODES=0,0,1,1 --set CROSSRAIL_PRIVATE_COMMUNICATORS=1
  --expect-carried MPI_Alltoall:5000 many_communicators 300 7500)
# Neither memory nor messages are there to agree by, so calls are native. The setting is the process's, whose earlier cases may have opened messages.
mpi_test(no_private_communicator openmpi4 3 ALONE ARGS --set CROSSRAIL_PRIVATE_COMMUNICATORS=0 --set CROSSRAIL_SEGMENT=none
  --set CROSSRAIL_ALLTOALL=pairwise --expect-carried MPI_Alltoall:200:native reuse 200 500)
mpi_test(many_communicators openmpi4 5 ARGS --clean-shm --expect-carried MPI_Alltoall:1000 many_communicators 300 1000)
mpi_test(many_communicators_shm openmpi4 3 ARGS --clean-shm --set CROSSRAIL_SEGMENT=shm
  --expect-carried MPI_Alltoall:500 many_communicators 100 1000)
mpi_test(many_communicators_pairwise openmpi4 3 ARGS --set CROSSRAIL_ALLTOALL=pairwise many_communicators 300 1000)

foreach(algorithm IN LISTS MPI_TEST_VECTOR_ALGORITHMS)
  foreach(mpi openmpi4 mpich4)
    mpi_test(allocations_${algorithm} ${mpi} 3 ARGS --set CROSSRAIL_ALLTOALLV=${algorithm}
      --expect-carried MPI_Alltoallv:300:${algorithm} --expect-carried MPI_Alltoallw:100:${algorithm} allocations 100)
  endforeach()
endforeach()

# A wrong table costs little: the MPI library's own collective has the calls that it does better.
mpi_test_program(guard guard.c FLAGS -rdynamic)
foreach(mpi IN LISTS MPI_TEST_MPIS)
  mpi_test(guard ${mpi} 2 ARGS --set CROSSRAIL_GUARD=3 --set CROSSRAIL_LOG=1 --set CROSSRAIL_TUNING=${CMAKE_CURRENT_SOURCE_DIR}/all_single_copy.csv
    --expect-text "native was faster on this communicator" --expect-carried MPI_Alltoall:6:node_single_copy guard given_back 512)
endforeach()
mpi_test(guard_off openmpi4 2 ARGS --set CROSSRAIL_GUARD=0 --set CROSSRAIL_TUNING=${CMAKE_CURRENT_SOURCE_DIR}/all_single_copy.csv
  --expect-carried MPI_Alltoall:60:node_single_copy guard kept 512)

# Programs that are killed leave reports, and some can write no file.
foreach(mpi openmpi4 mpich4)
  foreach(how killed aborts)
    mpi_test(report_${how} ${mpi} 2 SECONDS 80 ARGS --exit nonzero --no-pass --expect-carried MPI_Alltoall:100 report_kept ${how})
  endforeach()
  mpi_test(report_crashes_soon ${mpi} 2 SECONDS 80 ARGS --exit nonzero --no-pass --set CROSSRAIL_GUARD=0 --expect-carried MPI_Alltoall:20
    report_kept crashes_soon)
  mpi_test(report_killed_at_once ${mpi} 2 SECONDS 80 ARGS --exit nonzero --no-pass --expect-carried MPI_Alltoall:1 report_kept killed_at_once)
endforeach()
mpi_test(report_limited openmpi4 2 SECONDS 80 ARGS --expect-text "cannot write" report_kept limited)

# The order of calls is recorded for a replay.
mpi_test_program(recorded_calls recorded_calls.c)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5_abi)
  mpi_test(recorded ${mpi} 4 SECONDS 80 ARGS --set CROSSRAIL_RECORD=1 --no-pass --expect-recorded recorded_calls)
endforeach()
if(openmpi4 IN_LIST MPI_TEST_WANTED AND MPI_TEST_openmpi4_INCLUDE AND TARGET replay_openmpi)
  set(wrong_alltoall ${MPI_TEST_PROGRAMS}/wrong_alltoall.so)
  add_custom_command(OUTPUT ${wrong_alltoall}
    COMMAND ${CMAKE_C_COMPILER} -O2 -shared -fPIC -D_GNU_SOURCE -I${MPI_TEST_openmpi4_INCLUDE} ${CMAKE_CURRENT_SOURCE_DIR}/wrong_alltoall.c -o ${wrong_alltoall} -ldl
    DEPENDS wrong_alltoall.c VERBATIM)
  mpi_test_target(wrong_alltoall ${wrong_alltoall})
  add_test(NAME mpi.replayed.openmpi4.4 COMMAND ${Python3_EXECUTABLE} ${MPI_TEST_SOURCES}/replayed.py
    ${PROJECT_SOURCE_DIR}/crossrail ${MPI_TEST_PROGRAMS}/openmpi4/recorded_calls ${wrong_alltoall})
  set_tests_properties(mpi.replayed.openmpi4.4 PROPERTIES LABELS mpi TIMEOUT 400 PROCESSORS 2
    ENVIRONMENT "CROSSRAIL_LIBRARY_DIR=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()

# The trace says what ranks do, and when.
mpi_test_program(traced_calls traced_calls.c BUILDS openmpi4 mpich4)
foreach(mpi openmpi4 mpich4)
  mpi_trace_test(traced ${mpi} traced_calls CROSSRAIL_LIBRARY_DIR=${PROJECT_BINARY_DIR})
endforeach()

# Types are freed while calls use them, have attributes that must not be copied, or hold bytes backwards. Open MPI itself frees too
# early.
mpi_test_program(types_kept types_kept.c CASES 0 BUILDS openmpi4 openmpi5 mpich4 mpich5)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(types_kept ${mpi} 3 ARGS types_kept)
endforeach()

# Types that cost much to take apart are new in every call or used again, by several threads.
mpi_test_program(types_used_again types_used_again.c BUILDS openmpi4 openmpi5 mpich4 mpich5 FLAGS -rdynamic)
foreach(mpi openmpi4 openmpi5 mpich4 mpich5)
  mpi_test(types_used_again ${mpi} 3 ARGS --expect-carried MPI_Alltoall:20 --expect-carried MPI_Alltoallw:20 types_used_again 2)
  mpi_test(types_used_again_threads ${mpi} 2 ARGS types_used_again 2 threads)
endforeach()
