# The algorithms' source files, from the rows of src/collectives/<collective>/catalog.def: a row
# without its file, and a file without its row, stop the configuration.
function(crossrail_catalogue_sources result)
  set(sources "")
  file(GLOB catalogues CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/collectives/*/catalog.def)
  foreach(catalogue IN LISTS catalogues)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
    get_filename_component(folder ${catalogue} DIRECTORY)
    file(STRINGS ${catalogue} rows REGEX "^ALGORITHM\\(")
    set(named "")
    foreach(row IN LISTS rows)
      string(REGEX REPLACE "^ALGORITHM\\(([a-z0-9_]+),.*" "\\1" name "${row}")
      if(NOT EXISTS ${folder}/${name}.cpp)
        message(FATAL_ERROR "${catalogue} has a row '${name}', but there is no ${folder}/${name}.cpp")
      endif()
      list(APPEND named ${folder}/${name}.cpp)
    endforeach()
    file(GLOB present CONFIGURE_DEPENDS ${folder}/*.cpp)
    foreach(file IN LISTS present)
      if(NOT file IN_LIST named)
        message(FATAL_ERROR "${file} has no row in ${catalogue}")
      endif()
    endforeach()
    list(APPEND sources ${named})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Compiles a tuning table in, as crossrail::default_tuning().
function(crossrail_embed_tuning table output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include "selection/selection.h"
const char* crossrail::default_tuning() { return R"tuning(@text@)tuning"; }
]])
endfunction()
