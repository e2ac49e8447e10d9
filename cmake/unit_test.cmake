# Unit tests: one program a room, with GoogleTest and ranks as threads.
find_package(GTest REQUIRED)
add_custom_target(unit_tests)

# crossrail_unit_test(<name> <sources>...): registers the program as one test labelled "unit".
function(crossrail_unit_test name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE crossrail_simulate GTest::gtest GTest::gtest_main)
  add_dependencies(unit_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endfunction()
