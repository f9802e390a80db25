# sg_layer(FOLDER [ROOMS] [WITH folder] [LINK targets...]): the object library sg_FOLDER ('/' becomes '_') of
# cpp/FOLDER/*.cpp, with ROOMS also of the folders in it, WITH of one of them.
# A folder without sources (headers only) is an interface library, so that nobody needs to know.
set_property(GLOBAL PROPERTY SG_LAYERS "")

# The standard library, which is most of what a small unit reads, is read once (CMAKE_DISABLE_PRECOMPILE_HEADERS: in
# each unit, as the sanitizers' build does, so that a missing #include is noticed). A compiler launcher such as ccache
# keeps objects of other folders, which a precompiled header of this one would make useless.
set(sg_standard_headers algorithm array atomic bit chrono cmath cstddef cstdint cstdio cstdlib cstring deque exception
    functional limits map memory mutex new numeric optional set span string string_view thread type_traits
    unordered_map unordered_set utility vector)
list(TRANSFORM sg_standard_headers REPLACE "(.+)" "<\\1>")
function(sg_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  # GCC 12 then takes the library for our code, and warns of its strings.
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
  get_property(first GLOBAL PROPERTY SG_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${sg_standard_headers})
    set_property(GLOBAL PROPERTY SG_PRECOMPILED ${target})
  endif()
endfunction()

function(sg_layer folder)
  cmake_parse_arguments(arg "ROOMS" "WITH" "LINK;EXCLUDE" ${ARGN})
  string(REPLACE "/" "_" name "sg_${folder}")
  set(patterns "${PROJECT_SOURCE_DIR}/cpp/${folder}/*.cpp")
  if(arg_ROOMS)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/cpp/${folder}/*/*.cpp")
  endif()
  if(arg_WITH)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/cpp/${folder}/${arg_WITH}/*.cpp")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(file IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources "${PROJECT_SOURCE_DIR}/cpp/${folder}/${file}")
  endforeach()
  list(SORT sources)
  if(NOT sources AND NOT folder STREQUAL "device/gpu")
    add_library(${name} INTERFACE)
    return()
  endif()
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PUBLIC sg_flags ${arg_LINK})
  sg_precompile(${name})
  # Three files a unit read their headers, and compile templates that they share, once. As above, not with ccache.
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 3)
  endif()
  set_property(GLOBAL APPEND PROPERTY SG_LAYERS ${name})
endfunction()
