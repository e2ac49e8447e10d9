# This tests the wheel, where there is a Python with pip, Typer and scikit-build-core, which may lie in
# build/wheels/backend.
set(backend ${PROJECT_SOURCE_DIR}/build/wheels/backend)
crossrail_find_python(wheel_python "pip, rich, scikit_build_core, typer, venv" PYTHONPATH ${backend})
if(wheel_python AND CROSSRAIL_FLAVOURS)
  list(GET CROSSRAIL_FLAVOURS 0 flavour)
  string(TOUPPER ${flavour} upper)
  find_program(CROSSRAIL_${upper}_COMPILER NAMES mpicc.${flavour})
  add_test(NAME wheel COMMAND ${CMAKE_COMMAND}
    -DTREE=${PROJECT_SOURCE_DIR} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/wheel -DPYTHON=${wheel_python} -DBACKEND=${backend}
    -DVERSION=${PROJECT_VERSION} -DFLAVOUR=${flavour} -DINCLUDE=${CROSSRAIL_${upper}_INCLUDE}
    "-DCOMPILER=$<$<BOOL:${CROSSRAIL_${upper}_COMPILER}>:${CROSSRAIL_${upper}_COMPILER}>"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/wheel_test.cmake)
  set_tests_properties(wheel PROPERTIES LABELS install TIMEOUT 1800 COST 80)
else()
  set(why "skipped: no Python with pip, typer, rich and scikit-build-core, so no wheel is built")
  add_test(NAME wheel COMMAND ${CMAKE_COMMAND} -E echo "${why}")
  set_tests_properties(wheel PROPERTIES LABELS install SKIP_REGULAR_EXPRESSION "skipped: no Python")
endif()
