# This installs into a fresh folder, moves it, and uses it there as a stranger would: C programs by pkg-config and as a
# CMake package, the command line, the bench, an MPI program. Nothing of it may need the source tree or the first
# folder.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

# An administrator's own manifest in the build folder stays as it is.
set(manifest ${BUILD}/install_manifest.txt)
if(EXISTS ${manifest})
  file(COPY_FILE ${manifest} ${manifest}.kept)
endif()
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}_moved)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} --strip)
if(EXISTS ${manifest}.kept)
  file(RENAME ${manifest}.kept ${manifest})
else()
  file(REMOVE ${manifest})
endif()
file(RENAME ${PREFIX} ${PREFIX}_moved)
set(PREFIX ${PREFIX}_moved)
set(libraries ${PREFIX}/${LIBDIR})

# The program is built by hand and by pkg-config.
set(strict -std=c99 -Wall -Wextra -Wpedantic -Werror ${SOURCE}/stranger.c -Wl,-rpath,${libraries})
run(${COMPILER} ${strict} -I${PREFIX}/${INCLUDEDIR} -L${libraries} -lcrossrail -o ${PREFIX}/stranger)
check_stranger(${PREFIX}/stranger)
find_program(pkg_config pkg-config)
if(pkg_config)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libraries}/pkgconfig ${pkg_config} --cflags --libs crossrail)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${COMPILER} ${strict} ${flags} -o ${PREFIX}/stranger_pkg_config)
  check_stranger(${PREFIX}/stranger_pkg_config)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libraries}/pkgconfig ${pkg_config} --modversion crossrail)
  expect("${VERSION}")
  foreach(flavour IN LISTS FLAVOURS)
    run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libraries}/pkgconfig ${pkg_config} --variable=preload_${flavour} crossrail)
    string(STRIP "${output}" library)
    if(NOT EXISTS "${library}")
      message(FATAL_ERROR "pkg-config names a library to preload that is not there: '${library}'")
    endif()
  endforeach()
else()
  message("skipped: pkg-config is not installed, so crossrail.pc is not tried")
endif()

# The program is built as a CMake package. It carries the version of the interface in the library's name.
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${PREFIX}/consumer -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_C_COMPILER=${COMPILER}
  -DWANTED=${VERSION} "-DFLAVOURS=${FLAVOURS}" -DCMAKE_FIND_PACKAGE_NO_SYSTEM_PACKAGE_REGISTRY=ON)
run(${CMAKE_COMMAND} --build ${PREFIX}/consumer)
check_stranger(${PREFIX}/consumer/stranger)
run(readelf -d ${PREFIX}/consumer/stranger)
expect("NEEDED.*libcrossrail\\.so\\.${API_VERSION}\\]")

# A program may have an operator new of its own. No library shows names of C++, which the program's would stand in for.
file(GLOB shown ${libraries}/libcrossrail*.so ${libraries}/crossrail/*.so)
foreach(library IN LISTS shown)
  run(nm -D --defined-only ${library})
  if(output MATCHES "[^\n]* _Z[^\n]*")
    message(FATAL_ERROR "${library} exports a name of C++: ${CMAKE_MATCH_0}")
  endif()
endforeach()

# Only the C API is seen from outside, and symbols for debuggers are not installed with --strip.
run(nm -D --defined-only ${libraries}/libcrossrail.so)
string(REPLACE "\n" ";" lines "${output}")
foreach(line IN LISTS lines)
  if(line MATCHES " [TDBR] " AND NOT line MATCHES " crossrail_[a-z_]+$")
    message(FATAL_ERROR "libcrossrail.so exports what is not its API: ${line}")
  endif()
endforeach()
foreach(flavour IN LISTS FLAVOURS)
  run(readelf -S ${libraries}/libcrossrail_mpi_${flavour}.so)
  if(output MATCHES "\\.debug_info")
    message(FATAL_ERROR "libcrossrail_mpi_${flavour}.so is not stripped")
  endif()
endforeach()

include(${SOURCE}/command_line.cmake)
