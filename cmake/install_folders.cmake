# These are the folders of the installation. All but CMAKE_INSTALL_* follow from them, and everything finds the rest by
# relative paths, so that an installation can be moved. In a wheel the prefix is the Python package itself.
include(GNUInstallDirs)
if(SKBUILD)
  set(CMAKE_INSTALL_LIBDIR lib)
  set(CROSSRAIL_DATA_DIR share)
  set(CROSSRAIL_PYTHON_DIR .)
else()
  set(CROSSRAIL_DATA_DIR ${CMAKE_INSTALL_DATADIR}/crossrail)
  set(CROSSRAIL_PYTHON_DIR ${CROSSRAIL_DATA_DIR}/python/crossrail)
endif()
set(CROSSRAIL_BENCH_DIR ${CMAKE_INSTALL_LIBEXECDIR}/crossrail)

# Returns the path from one folder of the installation to another one. An absolute path stays so.
function(crossrail_relative_path from to result)
  if(IS_ABSOLUTE "${to}" OR IS_ABSOLUTE "${from}")
    cmake_path(ABSOLUTE_PATH to BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE OUTPUT_VARIABLE path)
  else()
    file(RELATIVE_PATH path "/${from}" "/${to}")
  endif()
  set(${result} "${path}" PARENT_SCOPE)
endfunction()
