# This installs all that a user needs, in components. `crossrail` is everything but the bench programs, which need an
# MPI library each (bench_<flavour>, bench/CMakeLists.txt).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME crossrail)
set(CROSSRAIL_CONFIGURED ${CMAKE_CURRENT_BINARY_DIR}/install)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/crossrail)

# These are the libraries. Device modules are looked for beside the others.
install(TARGETS crossrail EXPORT crossrail LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(modules ${CROSSRAIL_MPI_LIBRARIES} crossrail_nccl)
foreach(module crossrail_cuda crossrail_hip)
  if(TARGET ${module})
    list(APPEND modules ${module})
  endif()
endforeach()
install(TARGETS crossrail_simulate RUNTIME DESTINATION ${CROSSRAIL_BENCH_DIR})
install(TARGETS ${modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# This builds all that is installed, without the tests, as `make` does.
add_custom_target(install_parts DEPENDS crossrail ${modules} ${CROSSRAIL_BENCH_PARTS})

# Programs that use the C API need these: the headers, a pkg-config file, a CMake package.
install(DIRECTORY include/crossrail DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
crossrail_relative_path(${CMAKE_INSTALL_LIBDIR}/pkgconfig . prefix)
string(REGEX REPLACE "/$" "" prefix "${prefix}")
set(CROSSRAIL_PC_PREFIX "\${pcfiledir}/${prefix}")
if(IS_ABSOLUTE "${prefix}")
  set(CROSSRAIL_PC_PREFIX ${prefix})
endif()
foreach(dir LIBDIR INCLUDEDIR)
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${dir} BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE CROSSRAIL_PC_${dir})
  string(REGEX REPLACE "^/prefix/" "\${prefix}/" CROSSRAIL_PC_${dir} "${CROSSRAIL_PC_${dir}}")
endforeach()
set(CROSSRAIL_PRELOAD_VARIABLES "")
foreach(flavour IN LISTS CROSSRAIL_FLAVOURS)
  string(APPEND CROSSRAIL_PRELOAD_VARIABLES "preload_${flavour}=\${libdir}/libcrossrail_mpi_${flavour}.so\n")
endforeach()
configure_file(cmake/crossrail.pc.in ${CROSSRAIL_CONFIGURED}/crossrail.pc @ONLY)
install(FILES ${CROSSRAIL_CONFIGURED}/crossrail.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/crossrail-config.cmake.in ${CROSSRAIL_CONFIGURED}/crossrail-config.cmake
  INSTALL_DESTINATION ${cmake_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CROSSRAIL_CONFIGURED}/crossrail-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CROSSRAIL_CONFIGURED}/crossrail-config.cmake ${CROSSRAIL_CONFIGURED}/crossrail-config-version.cmake DESTINATION ${cmake_dir})
install(EXPORT crossrail NAMESPACE crossrail:: FILE crossrail-targets.cmake DESTINATION ${cmake_dir})

# This is the command line, and what it reads. A wheel has its own script and copies the package itself.
crossrail_relative_path(${CROSSRAIL_PYTHON_DIR} ${CMAKE_INSTALL_LIBDIR} CROSSRAIL_TO_LIBRARIES)
crossrail_relative_path(${CROSSRAIL_PYTHON_DIR} ${CROSSRAIL_BENCH_DIR} CROSSRAIL_TO_BENCHES)
crossrail_relative_path(${CROSSRAIL_PYTHON_DIR} ${CROSSRAIL_DATA_DIR} CROSSRAIL_TO_DATA)
configure_file(cmake/installed.py.in ${CROSSRAIL_CONFIGURED}/installed.py @ONLY)
install(FILES ${CROSSRAIL_CONFIGURED}/installed.py DESTINATION ${CROSSRAIL_PYTHON_DIR})
if(NOT SKBUILD)
  install(DIRECTORY python/crossrail/ DESTINATION ${CROSSRAIL_PYTHON_DIR}
    PATTERN __pycache__ EXCLUDE PATTERN installed.py EXCLUDE)
  crossrail_relative_path(${CMAKE_INSTALL_BINDIR} ${CROSSRAIL_DATA_DIR} CROSSRAIL_BIN_TO_DATA)
  configure_file(cmake/crossrail.sh.in ${CROSSRAIL_CONFIGURED}/crossrail @ONLY)
  install(PROGRAMS ${CROSSRAIL_CONFIGURED}/crossrail DESTINATION ${CMAKE_INSTALL_BINDIR})
  # `module use PREFIX/share/crossrail/modulefiles` finds these. Lmod takes the Lua file, Environment Modules the other
  # one.
  set(modulefiles ${CROSSRAIL_DATA_DIR}/modulefiles/crossrail)
  crossrail_relative_path(${modulefiles} . CROSSRAIL_MODULE_TO_PREFIX)
  configure_file(packaging/modulefiles/crossrail.lua.in ${CROSSRAIL_CONFIGURED}/${PROJECT_VERSION}.lua @ONLY)
  configure_file(packaging/modulefiles/crossrail.tcl.in ${CROSSRAIL_CONFIGURED}/${PROJECT_VERSION} @ONLY)
  install(FILES ${CROSSRAIL_CONFIGURED}/${PROJECT_VERSION}.lua ${CROSSRAIL_CONFIGURED}/${PROJECT_VERSION} DESTINATION ${modulefiles})
endif()
install(DIRECTORY tuning DESTINATION ${CROSSRAIL_DATA_DIR})
install(DIRECTORY machines DESTINATION ${CROSSRAIL_DATA_DIR})
install(DIRECTORY examples DESTINATION ${CROSSRAIL_DATA_DIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A Python that has Typer writes the manual page and the completion from the command line's own help.
crossrail_find_python(CROSSRAIL_PAGES_PYTHON "typer, rich")
if(CROSSRAIL_PAGES_PYTHON)
  set(pages ${CROSSRAIL_CONFIGURED}/pages)
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS python/crossrail/*.py)
  add_custom_command(OUTPUT ${pages}/crossrail.1
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${PROJECT_SOURCE_DIR}/python
      ${CROSSRAIL_PAGES_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/command_pages.py ${pages}
    DEPENDS cmake/command_pages.py ${texts} COMMENT "Writing the manual page and the shell completion" VERBATIM)
  add_custom_target(crossrail_pages ALL DEPENDS ${pages}/crossrail.1)
  add_dependencies(install_parts crossrail_pages)
  if(SKBUILD)
    install(FILES ${pages}/crossrail.1 DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1)
  else()
    install(FILES ${pages}/crossrail.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${pages}/crossrail.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME crossrail)
    install(FILES ${pages}/_crossrail DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${pages}/crossrail.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
else()
  message(STATUS "No Python with typer and rich: no manual page and no shell completion are installed")
endif()
