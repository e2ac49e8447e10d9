# These are the steps of the tests of installations: run(COMMAND...) leaves what was printed in `output`, expect(REGEX)
# looks there.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect expression)
  if(NOT output MATCHES "${expression}")
    message(FATAL_ERROR "'${expression}' is not in what was printed:\n${output}")
  endif()
endfunction()

# This runs the compiled stranger.c, which uses the C API.
function(check_stranger program)
  run(${program})
  foreach(expected "version ${VERSION}" "\"chosen\":\"node_shared\"" "\"packages\"|\"error\"")
    expect("${expected}")
  endforeach()
endfunction()
