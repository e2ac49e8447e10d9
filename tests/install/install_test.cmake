# Installs into a fresh folder, compiles stranger.c against what lies there, and runs it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${PREFIX})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})
set(program ${PREFIX}/stranger)
run(${COMPILER} -std=c99 -Wall -Wextra -Wpedantic -Werror ${SOURCE}/stranger.c -I${PREFIX}/${INCLUDEDIR}
  -L${PREFIX}/${LIBDIR} -lcrossrail -Wl,-rpath,${PREFIX}/${LIBDIR} -o ${program})
run(${program})
foreach(expected "version ${VERSION}" "\"chosen\":\"node_shared\"" "\"packages\"|\"error\"")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "stranger.c did not print ${expected}:\n${output}")
  endif()
endforeach()

# Only the C API is seen from outside.
run(nm -D --defined-only ${PREFIX}/${LIBDIR}/libcrossrail.so)
string(REPLACE "\n" ";" lines "${output}")
foreach(line IN LISTS lines)
  if(line MATCHES " [TDBR] " AND NOT line MATCHES " crossrail_[a-z_]+$")
    message(FATAL_ERROR "libcrossrail.so exports what is not its API: ${line}")
  endif()
endforeach()
