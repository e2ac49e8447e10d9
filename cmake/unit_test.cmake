# Each room has one program of unit tests, with GoogleTest and ranks as threads.
find_package(GTest)
add_custom_target(unit_tests)
# In these tests threads or memory can go wrong. CI builds them with sanitizers.
add_custom_target(sanitized_tests)
if(NOT GTest_FOUND)
  message(WARNING "GoogleTest is not installed (Debian: libgtest-dev): the unit tests are skipped")
endif()

# Tests are compiled more often than they run long, so there is little optimization, and no more debug information than
# backtraces need.
function(crossrail_compile_as_test target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    target_compile_options(${target} PRIVATE -O1 -g1)
  endif()
endfunction()

# All of them include these headers, which are compiled once. They are compiled as a program, because code for
# libraries is compiled otherwise.
if(GTest_FOUND)
  set(frequent_in_tests ${CMAKE_CURRENT_BINARY_DIR}/unit_test_headers.cpp)
  file(WRITE ${frequent_in_tests} "int main() {}\n")
  add_executable(unit_test_headers EXCLUDE_FROM_ALL ${frequent_in_tests})
  target_include_directories(unit_test_headers PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(unit_test_headers PRIVATE crossrail_virtual_world GTest::gtest)
  target_precompile_headers(unit_test_headers PRIVATE ${CROSSRAIL_FREQUENT_HEADERS} <gtest/gtest.h> ${PROJECT_SOURCE_DIR}/src/engine/engine.h
    ${PROJECT_SOURCE_DIR}/virtual_world/thread_world.h)
  crossrail_compile_as_test(unit_test_headers)
endif()

# This is what tests send and compare, without sanitizers, which would take most of the time of most tests with it.
add_library(crossrail_test_data STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/collectives/data.cpp)
target_include_directories(crossrail_test_data PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
  ${CROSSRAIL_GENERATED})
target_compile_options(crossrail_test_data PRIVATE -O2 -Wall -Wextra)

# crossrail_unit_test(<name> [PLAIN] <sources>...) registers the program as one test labelled "unit". With PLAIN one thread computes values from
# values, in which sanitizers find nothing that other tests do not reach.
function(crossrail_unit_test name)
  cmake_parse_arguments(ARG "PLAIN" "" "" ${ARGN})
  if(NOT GTest_FOUND)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no GoogleTest")
    set_tests_properties(${name} PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "skipped: no GoogleTest")
    return()
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE crossrail_virtual_world crossrail_test_data GTest::gtest GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM unit_test_headers)
  crossrail_compile_as_test(${name})
  add_dependencies(unit_tests ${name})
  if(NOT ARG_PLAIN)
    add_dependencies(sanitized_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  # Ranks as threads wait for each other. Beside three other such programs on two cores each takes several times as long.
  set_tests_properties(${name} PROPERTIES LABELS "unit$<$<BOOL:${ARG_PLAIN}>:;plain>" TIMEOUT 1800 PROCESSORS 2)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endfunction()

# This does the same for programs that ask for rows of papers by name. Without these they are skipped.
function(crossrail_unit_test_of_papers name)
  if(CROSSRAIL_PAPER_ROWS)
    crossrail_unit_test(${name} ${ARGN})
    return()
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: CROSSRAIL_PAPER_ROWS is off")
  set_tests_properties(${name} PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "skipped: CROSSRAIL_PAPER_ROWS is off")
endfunction()
